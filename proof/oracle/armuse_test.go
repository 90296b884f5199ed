//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestArmUse builds programs for Armv7 by the profile of a run. It checks their answers, with
// exceptions and longjmp, and that the functions that ran are in front of the others.
func TestArmUse(t *testing.T) {
	skipLong(t)
	t.Parallel()
	for _, v := range []struct{ source, compiler, flags string }{
		{"shapes.cc", "arm-linux-gnueabihf-g++", "-O2 -std=c++17"},
		{"shapes.cc", "arm-linux-gnueabihf-g++", "-O2 -marm -std=c++17"},
		{"shapes.cc", "clang++-22", "--target=armv7-linux-gnueabihf -fuse-ld=lld -O2 -std=c++17"},
		{"shapes.cc", "arm-linux-gnueabi-g++", "-O2 -march=armv7-a -mthumb -std=c++17"},
		{"shapes.cc", "arm-linux-gnueabi-g++", "-O2 -march=armv7-a -marm -std=c++17"},
		{"flow.c", "arm-linux-gnueabi-gcc", "-O2 -march=armv7-a -mthumb"},
		{"flow.c", "arm-linux-gnueabihf-gcc", "-Os -static"},
	} {
		t.Run(v.source+v.compiler+v.flags, func(t *testing.T) {
			t.Parallel()
			processor := armv7
			if strings.Contains(v.compiler, "gnueabi-") {
				processor = armSoft
			}
			args := variant{v.compiler, v.flags}.args(filepath.Join("testdata", v.source))
			want := output(t, processor.run(t, build(t, "", v.compiler, args...)))
			program := build(t, "full", v.compiler, args...)
			raws := filepath.Join(t.TempDir(), "raws")
			cmd := processor.run(t, program)
			cmd.Env = append(os.Environ(), "CAIRN_DIR="+raws)
			checkAnswer(t, output(t, cmd), want)
			m := profile(t, program, raws)

			dir := t.TempDir()
			file, used := filepath.Join(dir, "use.mip"), filepath.Join(dir, "used")
			writeProfile(t, file, m)
			argv := append([]string{"build", "--use", file, "--", v.compiler}, args...)
			text, err := command(t, cairn, append(argv, "-o", used)...).CombinedOutput()
			summary := string(text)
			if err != nil || !strings.Contains(summary, "no function was split: only those of x86-64 and AArch64 are") {
				t.Fatalf("%v: the summary does not say why no function was split:\n%s", err, summary)
			}
			checkAnswer(t, output(t, processor.run(t, used)), want)

			at := map[string]uint64{}
			for line := range strings.Lines(output(t, command(t, "nm", used))) {
				if f := strings.Fields(line); len(f) == 3 && strings.ContainsAny(f[1], "tTwW") {
					addr, err := strconv.ParseUint(f[0], 16, 64)
					if err != nil {
						t.Fatal(err)
					}
					at[f[2]] = addr
				}
			}
			last, first, ran, rest := uint64(0), ^uint64(0), 0, 0
			for i := range m.Funcs {
				addr, ok := at[m.Funcs[i].Name]
				switch {
				case !ok, strings.HasPrefix(m.Funcs[i].Name, "_ZTh"): // thunks are in the section of their function
				case m.Counts[i].Runs > 0:
					last = max(last, addr)
					ran++
				default:
					first = min(first, addr)
					rest++
				}
			}
			if ran < 5 || rest < 2 || last >= first {
				t.Errorf("%d functions that ran end at %#x, %d others begin at %#x\n%s", ran, last, rest, first, summary)
			}
		})
	}
}
