//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestSwiftCalls compares the calls of Swift's conventions, which clang compiles for its attributes as swiftc does: contexts
// of methods and closures, errors, and functions that wait, which go on by tail calls. Their registers must reach the callee
// through the probes.
func TestSwiftCalls(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "swift.c")
	for _, flags := range shorttest.Rows(1, "-O2 -w", "-O1 -w -g -mbranch-protection=standard", "-Oz -w") {
		t.Run("aarch64"+flags, func(t *testing.T) {
			t.Parallel()
			args := variant{"clang-22", "--target=aarch64-linux-gnu " + flags}.args(source)
			want := output(t, aarch64.run(t, build(t, "", "clang-22", args...)))
			for _, mode := range []string{"full", "block+order"} {
				answer, ran, seen, m := aarch64.emulated(t, build(t, mode, "clang-22", args...))
				checkAnswer(t, answer, want)
				checkCovered(t, m, ran)
				checkOrder(t, m, seen)
				if mode == "full" {
					checkCalls(t, m, ran)
				}
			}
			for _, mode := range []string{"edge", "spike", "stacks", "trace"} {
				cmd := aarch64.run(t, build(t, mode, "clang-22", args...))
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+t.TempDir())
				checkAnswer(t, output(t, cmd), want)
			}
		})
	}
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			for _, flags := range shorttest.Rows(1, "-O2", "-O2 -flto=thin") {
				args := system.args(t, flags, source)
				want := output(t, system.load(t, system.emulator, build(t, "", "clang-22", args...)))
				answer, ran, _, m := system.observed(t, build(t, "full", "clang-22", args...))
				checkAnswer(t, answer, want)
				checkCovered(t, m, ran)
				checkCalls(t, m, ran)
			}
		})
	}
	t.Run("x86-64", func(t *testing.T) {
		t.Parallel()
		args := []string{"-O2", "-w", source}
		want := answerOf(t, build(t, "", "clang-22", args...))
		everything(t, want, "clang-22", args...)
		for _, mode := range []string{"edge", "spike", "stacks", "trace"} {
			cmd := command(t, build(t, mode, "clang-22", args...))
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+t.TempDir())
			checkAnswer(t, output(t, cmd), want)
		}
	})
}
