package split

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
)

// crossTools skips a test where the tools for AArch64 are missing.
func crossTools(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
}

// assembleCross makes an object of name.s in dir, by clang what older binutils do not know.
func assembleCross(t *testing.T, dir, name string, clang bool) {
	t.Helper()
	if clang {
		asmtest.Command(t, dir, "clang++-22", "--target=aarch64-linux-gnu", "-c", "-o", name+".o", name+".s")
		return
	}
	asmtest.Command(t, dir, "aarch64-linux-gnu-as", "-o", name+".o", name+".s")
}

// TestSplitGoldenAArch64 splits what gcc and clang made of testdata for AArch64 at every other block
// and has it assembled.
func TestSplitGoldenAArch64(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "testdata/aarch64/*.s", func(file string, src []byte) {
		out, result := splitFor(t, machine.AArch64, src, everyOther)
		for _, f := range result.Refused {
			out = fmt.Appendf(out, "// %s: %s\n", f.Name, f.Reason)
		}
		golden.Compare(t, strings.TrimSuffix(file, ".s")+".golden", out)
		dir := t.TempDir()
		asmtest.Write(t, filepath.Join(dir, "a.s"), out)
		assembleCross(t, dir, "a", strings.HasPrefix(filepath.Base(file), "clang"))
	})
}

var crossClang = []string{"clang++-22", "--target=aarch64-linux-gnu", "-fno-integrated-as"}

// crossBuilds are compilers and options for AArch64.
var crossBuilds = [][]string{
	{"aarch64-linux-gnu-g++", "-O2"},
	{"aarch64-linux-gnu-g++", "-O2", "-mbranch-protection=standard"},
	{"aarch64-linux-gnu-g++", "-O3", "-g", "-fPIC", "-ffunction-sections", "-mbranch-protection=pac-ret+leaf+b-key"},
	{"aarch64-linux-gnu-g++", "-Os", "-fno-omit-frame-pointer"},
	{"aarch64-linux-gnu-g++", "-O0", "-g"},
	append(slices.Clone(crossClang), "-O2"),
	append(slices.Clone(crossClang), "-O2", "-mbranch-protection=standard"),
	append(slices.Clone(crossClang), "-O3", "-g", "-fPIC", "-ffunction-sections"),
	append(slices.Clone(crossClang), "-O0"),
}

// TestSplitRunsAArch64 throws, catches and unwinds through functions split at random, with their blocks in the order of the
// text and in a random one, on an emulator, and compares the output with that of the program as it was.
func TestSplitRunsAArch64(t *testing.T) {
	t.Parallel()
	crossTools(t, "aarch64-linux-gnu-g++", "qemu-aarch64")
	for i, build := range crossBuilds {
		if testing.Short() && i%5 != 1 {
			continue // one of gcc and one of clang
		}
		programs := []string{"testdata/exceptions.cc", "../../../proof/oracle/testdata/shapes.cc", "../../../proof/oracle/testdata/tree.cc"}
		if testing.Short() && i > 1 {
			programs = programs[:1] // gcc's build has had all of them
		}
		for _, program := range programs {
			t.Run(strings.Join(build, " ")+" "+filepath.Base(program), func(t *testing.T) {
				t.Parallel()
				splitAndRun(t, build, program)
			})
		}
	}
}

// splitAndRun compares the answers of a program split at random with what it answers unsplit.
func splitAndRun(t *testing.T, build []string, program string) {
	dir := t.TempDir()
	src := asmtest.Compile(t, dir, program, build...)
	run := func(text []byte) string {
		asmtest.Write(t, filepath.Join(dir, "b.s"), text)
		assembleCross(t, dir, "b", strings.HasPrefix(build[0], "clang"))
		asmtest.Command(t, dir, "aarch64-linux-gnu-g++", "-pthread", "-o", "b", "b.o")
		cmd := exec.Command("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", filepath.Join(dir, "b"), "3", "20") // what tree.cc takes
		out, err := cmd.CombinedOutput()
		return fmt.Sprintf("%s%v", out, err)
	}
	want := run(src)
	if !strings.HasSuffix(want, "<nil>") && !strings.Contains(want, "terminated") || len(want) < 10 {
		t.Fatalf("the program as it was: %s", want)
	}
	for i, share := range []float64{0.5, 1} {
		out, result := splitFor(t, machine.AArch64, src, atRandom(uint64(i), share))
		if len(result.Split) < 3 || len(result.Refused) > 0 {
			t.Errorf("split %d functions, refused %v", len(result.Split), result.Refused)
		}
		if got := run(out); got != want {
			t.Errorf("%v: the output differs:\n%s\nwant\n%s", share, got, want)
		}
	}
	for i, share := range []float64{0, 0.3} {
		out, result := ordered(t, machine.AArch64, src, uint64(i), share)
		if len(result.Ordered) < 3 || len(result.Refused) > 0 {
			t.Errorf("ordered %d functions, refused %v", len(result.Ordered), result.Refused)
		}
		if got := run(out); got != want {
			t.Errorf("in another order, %v cold: the output differs:\n%s\nwant\n%s", share, got, want)
		}
	}
}
