//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTreeCoroutines holds the tree of threads that change between coroutines at
// any depth against what the program counted itself.
func TestTreeCoroutines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"gcc -O2", "gcc -O0", "clang-22 -O2", "gcc -Os -fcf-protection -DBY_HAND", "clang-22 -O0 -DBY_HAND",
	} {
		for _, mode := range []string{"stacks", "stacks --counts", "stacks --max"} {
			if mode != "stacks" && line != "gcc -O2" {
				continue
			}
			t.Run(mode+" "+line, func(t *testing.T) {
				t.Parallel()
				f := strings.Fields(line)
				program := build(t, mode+" --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "coroutines.c"))...)
				out, logs := stacksOf(t, program, "16")
				if len(logs) != 1 {
					t.Fatalf("%d logs", len(logs))
				}
				sameStacks(t, "stacks", plain(logs[0]), parseFolded(t, out))
			})
		}
	}
}

// TestTreeLives: threads that come and go lose nothing, and take no more memory
// and no longer log than those that are there at a time.
func TestTreeLives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cc, mode, run string }{
		{"gcc -O2", "stacks", "30000 8"},
		{"gcc -O2", "stacks", "5000 300"},
		{"gcc -O2", "stacks --counts", "3000 5"},
		{"gcc -O2", "stacks --max", "3000 5"},
		{"musl-gcc -O2", "stacks", "3000 20"},
		{"musl-gcc -O2 -static", "stacks", "3000 20"},
		{"gcc -O1 -fsanitize=address", "stacks", "500 150"},
		{"clang-22 -O1 -fsanitize=thread", "stacks", "500 150"},
		{"gcc -O1 -fsanitize=undefined", "stacks", "500 150"},
	} {
		t.Run(c.mode+" "+c.cc+" "+c.run, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(c.cc)
			program := build(t, c.mode+" --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "lives.c"))...)
			dir := t.TempDir()
			cmd := command(t, program, strings.Fields(c.run)...)
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			log := mustGlob(t, filepath.Join(dir, "*.cairnlog"))[0]
			sameStacks(t, "stacks", plain(foldedCalls(t, log)), parseFolded(t, string(out)))
			info, err := os.Stat(log)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > 2<<20 {
				t.Errorf("a log of %d bytes", info.Size())
			}
			if strings.Contains(c.cc, "sanitize") {
				return
			}
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(said.String()), " KB"))
			if err != nil || kb > 64<<10 {
				t.Errorf("%s of memory (%v)", said.String(), err)
			}
		})
	}
}

// TestTreeSanitized: a program that a sanitizer watches has the same tree.
func TestTreeSanitized(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"g++ -O1 -fsanitize=address,undefined", "clang++-22 -O1 -fsanitize=address", "g++ -O1 -fsanitize=thread",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "stacks --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "tree.cc"))...)
			out, logs := stacksOf(t, program, "8", "60")
			sameStacks(t, "stacks", plain(logs[0]), parseFolded(t, out))
		})
	}
}

// TestTreeReplay: the tree that is made of a log of every call is the one that the
// program makes while it runs.
func TestTreeReplay(t *testing.T) {
	t.Parallel()
	told, trees := stacksOf(t, buildSQLite(t, "stacks", "gcc", "-O1"), sqliteArgs(t, "3")...)
	said, events := callLogs(t, "file", append([]string{buildSQLite(t, "trace", "gcc", "-O1")}, sqliteArgs(t, "3")...)...)
	if told != said {
		t.Fatal("the program's answers differ")
	}
	replayed := foldedCalls(t, events[0].Info().File)
	online := without(trees[0], replayed)
	sameStacks(t, "stacks", online, without(replayed, online))
	if len(online) < 5000 {
		t.Errorf("%d stacks: that proves little", len(online))
	}
}

// TestTraceSanitized: a program that a sanitizer watches, or that another C library
// is in, has the same calls in its log.
func TestTraceSanitized(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"gcc -O1 -fsanitize=address", "clang-22 -O1 -fsanitize=thread", "gcc -O1 -fsanitize=undefined", "musl-gcc -O2", "musl-gcc -O2 -static",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			f := strings.Fields(line)
			program := build(t, "trace --only ^w_", f[0], append(f[1:], "-pthread", filepath.Join("testdata", "lives.c"))...)
			said, logs := callLogs(t, "file", program, "300", "8")
			sameStacks(t, "stacks", plain(foldedCalls(t, logs[0].Info().File)), parseFolded(t, said))
		})
	}
}
