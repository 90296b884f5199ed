package oracle

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The documentation of the package names tests that exist.
func TestDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	named := regexp.MustCompile(`\bTest\w+`).FindAllString(string(doc), -1)
	if len(named) == 0 {
		t.Fatal("it names none")
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "func "+name+"(t *testing.T)") {
			t.Errorf("there is no %s", name)
		}
	}
}
