//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// upTo returns what of the calls of coroutines.c is recorded up to a depth, which each coroutine has for itself.
func upTo(depth int, all map[string]uint64) map[string]uint64 {
	calls := map[string]uint64{}
	for stack, n := range all {
		var kept []string
		deep := 0
		for call := range strings.SplitSeq(stack, ";") {
			if call == "w_begin" {
				deep = 0
			}
			if deep++; deep <= depth {
				kept = append(kept, call)
			}
		}
		if deep <= depth {
			calls[strings.Join(kept, ";")] += n
		}
	}
	return calls
}

// TestMachOCoroutines compares threads that change between coroutines, for Linux too, with what the program counted itself.
func TestMachOCoroutines(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "coroutines.c")
	for _, c := range shorttest.Rows(2, "stacks/-O2", "trace --depth 3/-O2", "trace/-O1", "trace --depth 5/-O0", "trace --depth 2/-Os", "stacks/-O0") {
		mode, flags, _ := strings.Cut(c, "/")
		check := func(t *testing.T, answer, logs string) {
			t.Helper()
			want := parseFolded(t, answer)
			if _, depth, ok := strings.Cut(mode, "--depth "); ok {
				n, _ := strconv.Atoi(depth)
				want = upTo(n, want)
			}
			sameStacks(t, mode, plain(foldedLogs(t, logs)), want)
		}
		for _, system := range []apple{macOS, iOS} {
			t.Run(system.target+c, func(t *testing.T) {
				t.Parallel()
				program := build(t, mode+" --only ^w_", "clang-22", system.linuxArgs(t, "-w "+flags, source)...)
				answer, logs := system.logged(t, "file", program, "6")
				check(t, answer, logs)
			})
		}
		if !strings.Contains(mode, "--depth") {
			continue // cc_coroutines and TestTreeCoroutines have them
		}
		t.Run("linux"+c, func(t *testing.T) {
			t.Parallel()
			logs := t.TempDir()
			cmd := command(t, build(t, mode+" --only ^w_", "clang-22", append(strings.Fields(flags), "-pthread", source)...), "32")
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "CAIRN_TRACE=file")
			answer := output(t, cmd)
			check(t, answer, logs)
		})
	}
}
