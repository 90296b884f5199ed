package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStart checks what is initialised whenever cairn starts: a compiler starts it twice for each source file. Packages of this
// module allocate little, and a package that takes long is not linked.
func TestStart(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cairn", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const most = 84 << 10 // bytes, of all packages together
	sum, packages := 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1) {
		path := m[1]
		if path == "runtime/metrics" {
			t.Errorf("%s is linked, and makes its table whenever cairn starts", path)
		}
		if strings.HasPrefix(path, "github.com/cairnprof/cairn/") {
			bytes, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			if path == "github.com/cairnprof/cairn/internal/binary/x86" && bytes > 0 {
				t.Errorf("the tables of instructions take memory when they are made: %d bytes", bytes)
			}
			sum += bytes
			packages++
		}
	}
	if packages == 0 || sum > most {
		t.Errorf("%d bytes are allocated by %d packages before cairn begins, want at most %d: see lazyregexp and sync.OnceValue", sum, packages, most)
	}
}
