//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestMachOExceptions throws through functions with probes. The loader unwinds by the compact entries of
// __unwind_info, as macOS does: that of a large frame without a frame pointer has the offset of an instruction.
func TestMachOExceptions(t *testing.T) {
	t.Parallel()
	type row struct {
		system apple
		flags  string
	}
	for _, v := range shorttest.Rows(
		1,
		row{macOS, "-O2 -fomit-frame-pointer"},
		row{macOS, "-O1"},
		row{macOS, "-O0"},
		row{iOS, "-O2"},
		row{iOS, "-Os -fomit-frame-pointer"},
	) {
		t.Run(v.system.target+v.flags, func(t *testing.T) {
			t.Parallel()
			args := v.system.args(t, v.flags+" -std=c++17 -Wl,-undefined,dynamic_lookup", filepath.Join("testdata", "macho", "frames.cc"))
			want := output(t, v.system.load(t, v.system.emulator, build(t, "", "clang++-22", args...)))
			for _, mode := range shorttest.Rows(1, "full", "cover", "block+order") {
				answer, m := v.system.run(t, build(t, mode, "clang++-22", args...))
				checkAnswer(t, answer, want)
				if mode != "full" {
					continue
				}
				calls := machOCalls(m)
				for name, n := range map[string]uint64{"main": 1, "_Z5smalli": 5, "_Z7throweri": 5} {
					if calls[name] != n {
						t.Errorf("%s: %d calls, want %d of %v", name, calls[name], n, calls)
					}
				}
			}
		})
	}
}
