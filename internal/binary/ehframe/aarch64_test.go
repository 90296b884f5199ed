package ehframe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// crossSource is source with what AArch64 has of its own.
var crossSource = strings.NewReplacer("cfi_undefined rip", "cfi_undefined x30", "hlt", "brk 1").Replace(source) + `
__attribute__((noinline)) int sized(int n) { char *p = (char *)__builtin_alloca(n + 16); puts(p); return p[n]; }
int sizes(int n) { return sized(n) + sized(n + 1); }
`

// crossBuild builds crossSource for AArch64.
func crossBuild(t *testing.T, compiler string, flags ...string) string {
	t.Helper()
	for _, tool := range []string{compiler, "aarch64-linux-gnu-g++", "llvm-dwarfdump-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("tools")
		}
	}
	dir := t.TempDir()
	source, bin := filepath.Join(dir, "x.cc"), filepath.Join(dir, "x")
	if err := os.WriteFile(source, []byte(crossSource), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, append(append([]string{"-O2", "-o", bin}, flags...), source)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// dumped is what llvm-dwarfdump says of an address: the canonical frame address, the
// frame pointer and the return address in its words, and whether that is signed.
type dumped struct {
	cfa, frame, ret string
	signed          bool
}

var (
	dumpedFrame = regexp.MustCompile(` FDE .*pc=([0-9a-f]+)\.\.\.([0-9a-f]+)$`)
	dumpedRow   = regexp.MustCompile(`^  0x([0-9a-f]+): CFA=([^:]+)(?:: (.*))?$`)
)

// dump reads what llvm-dwarfdump prints: rows by address, and frames.
func dump(t *testing.T, path string) (rows map[uint64]dumped, frames [][2]uint64) {
	t.Helper()
	out, err := exec.Command("llvm-dwarfdump-22", "--eh-frame", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	rows = map[uint64]dumped{}
	inside := false
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if m := dumpedFrame.FindStringSubmatch(line); m != nil {
			lo, _ := strconv.ParseUint(m[1], 16, 64)
			hi, _ := strconv.ParseUint(m[2], 16, 64)
			if inside = lo != 0; inside {
				frames = append(frames, [2]uint64{lo, hi})
			}
		}
		m := dumpedRow.FindStringSubmatch(line)
		if m == nil || !inside {
			continue
		}
		at, _ := strconv.ParseUint(m[1], 16, 64)
		row := dumped{cfa: m[2]}
		for _, rule := range strings.Split(m[3], ", ") {
			switch name, where, _ := strings.Cut(rule, "="); name {
			case "W29":
				row.frame = where
			case "W30":
				row.ret = where
			case "reg34", "RA_SIGN_STATE":
				row.signed = where == "1"
			}
		}
		rows[at] = row
	}
	return rows, frames
}

// inWords says a row as llvm-dwarfdump does.
func inWords(r Row) dumped {
	out := dumped{signed: r.Signed}
	at := func(base string, offset int64) string {
		if offset == 0 {
			return base
		}
		return fmt.Sprintf("%s%+d", base, offset)
	}
	switch r.CFA {
	case CFAStack:
		out.cfa = at("WSP", int64(r.Offset))
	case CFAFrame:
		out.cfa = at("W29", int64(r.Offset))
	}
	if r.Frame == FrameAtCFA {
		out.frame = "[" + at("CFA", int64(r.FrameOffset)) + "]"
	}
	switch r.Return {
	case ReturnAtCFA:
		out.ret = "[" + at("CFA", int64(r.ReturnOffset)) + "]"
	case ReturnNone:
		out.ret = "undefined"
	}
	return out
}

// TestAArch64 compares frames and rows of programs for AArch64 with llvm-dwarfdump's,
// with signed return addresses and without.
func TestAArch64(t *testing.T) {
	t.Parallel()
	programs := []string{
		crossBuild(t, "aarch64-linux-gnu-g++", "-mbranch-protection=standard"),
		crossBuild(t, "aarch64-linux-gnu-g++", "-static", "-fomit-frame-pointer"),
		crossBuild(t, "clang++-22", "--target=aarch64-linux-gnu", "-mbranch-protection=pac-ret+b-key+leaf", "-fuse-ld=lld"),
		crossBuild(t, "clang++-22", "--target=aarch64-linux-gnu", "-O0"),
	}
	libraries, _ := filepath.Glob("/usr/aarch64-linux-gnu/lib/libstdc++.so.6")
	signed := 0
	for _, path := range append(programs, libraries...) {
		data, addr := section(t, path, ".eh_frame")
		rows, err := Rows(data, addr, machine.AArch64)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		want, wantFrames := dump(t, path)
		same, unknown := 0, 0
		for at, want := range want {
			i := sort.Search(len(rows), func(i int) bool { return rows[i].PC > at }) - 1
			switch {
			case i < 0:
				t.Fatalf("%s: no row for %#x", path, at)
			case rows[i].CFA == CFAUnknown:
				unknown++
			case inWords(rows[i]) != want:
				t.Errorf("%s: %#x: %+v, llvm-dwarfdump has %+v", path, at, inWords(rows[i]), want)
			default:
				same++
			}
			if want.signed {
				signed++
			}
		}
		t.Logf("%s: %d rows are the same, %d not known", filepath.Base(path), same, unknown)
		if same < 10 || unknown > same/50 {
			t.Errorf("%s: %d rows are as llvm-dwarfdump's, %d are not known", path, same, unknown)
		}
		frames, err := Read(data, addr, machine.AArch64)
		if err != nil || len(frames) != len(wantFrames) {
			t.Fatalf("%s: %d frames, %v; llvm-dwarfdump has %d", path, len(frames), err, len(wantFrames))
		}
		for i, f := range frames {
			first := want[f.Lo]
			if f.Lo != wantFrames[i][0] || f.Hi != wantFrames[i][1] {
				t.Errorf("%s: frame %#x-%#x, llvm-dwarfdump has %#x", path, f.Lo, f.Hi, wantFrames[i])
			} else if called := first.cfa == "WSP" && first.ret == "" && first.frame == ""; f.Called != called {
				t.Errorf("%s: frame %#x is called: %v, its first row is %+v", path, f.Lo, f.Called, first)
			}
		}
	}
	if signed < 10 {
		t.Errorf("%d rows have signed return addresses", signed)
	}
}
