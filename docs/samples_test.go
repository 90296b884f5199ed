package docs

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestProfgenOptions checks that the page describes every option of llvm-profgen.
func TestProfgenOptions(t *testing.T) {
	t.Parallel()
	help, err := exec.Command("llvm-profgen-22", "--help-hidden").Output()
	if err != nil {
		t.Skip("needs llvm-profgen-22")
	}
	page, err := os.ReadFile("profgen-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	options := regexp.MustCompile(`(?m)^  (--?[a-z-]+)`).FindAllStringSubmatch(string(help), -1)
	for _, o := range options {
		if generic := strings.HasPrefix(o[1], "--help") || o[1] == "-h" || o[1] == "--version"; !generic && !strings.Contains(string(page), "`"+o[1]+"`") {
			t.Errorf("profgen-reference.md has nothing about %s", o[1])
		}
	}
	if len(options) < 30 {
		t.Errorf("%d options are in\n%s", len(options), help)
	}
}
