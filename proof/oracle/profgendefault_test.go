//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const llvmProfdata = "llvm-profdata-22"

// likeLLVM compares the profile of the pre-inliner with what llvm-profgen writes of the same
// samples unless it is told otherwise: with its inference of missing frames, where there are
// pseudo probes, and without.
func likeLLVM(t *testing.T, program, perf string, probed bool) {
	t.Helper()
	mustHave(t, llvmProfgen)
	mustHave(t, llvmProfdata)
	infer := map[string]string{"none": "0"}
	if probed {
		infer["llvm"] = "1"
	}
	for ours, theirs := range infer {
		got, want := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
		of := []string{"--binary=" + program, "--perfscript=" + perf}
		output(t, command(t, llvmProfgen, append(of, "--infer-missing-frames="+theirs, "--output="+want)...))
		mine := append(of, "--csspgo-preinliner", "--keep-tail-jumps", "--infer-missing-frames="+ours, "--output="+got)
		output(t, command(t, cairn, append([]string{"profgen"}, mine...)...))
		text, err := os.ReadFile(got)
		if err != nil {
			t.Fatal(err)
		}
		asText := profdata(t, "merge", "--text", "--output=-", want)
		if n := strings.Count(asText, "\n"); string(text) != asText {
			t.Errorf("inference %s: %s", ours, firstDifference(string(text), asText))
		} else {
			t.Logf("inference %s: %d lines are the same", ours, n)
		}
		// The binary form, which is llvm-profgen's default, has the same sections
		// with the same flags and sizes, in another order.
		output(t, command(t, cairn, append([]string{"profgen", "--format=extbinary"}, mine...)...))
		if g, w := sections(t, got), sections(t, want); g != w {
			t.Errorf("inference %s: the sections are\n%s\nllvm-profgen:\n%s", ours, g, w)
		}
		if back := profdata(t, "merge", "--text", "--output=-", got); back != asText {
			t.Errorf("inference %s, extbinary: %s", ours, firstDifference(back, asText))
		}
	}
}

var sectionOffset = regexp.MustCompile(`Offset: \d+`)

// sections returns the sections of a profile without the places that they are at.
func sections(t *testing.T, profile string) string {
	t.Helper()
	return sectionOffset.ReplaceAllString(profdata(t, "show", "--show-sec-info-only", profile), "")
}

func profdata(t *testing.T, verb string, args ...string) string {
	t.Helper()
	return output(t, command(t, llvmProfdata, append([]string{verb, "--sample"}, args...)...))
}
