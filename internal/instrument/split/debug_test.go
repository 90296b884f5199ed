package split

import (
	"debug/dwarf"
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
)

// TestRanges checks the operands of ranges: those that begin or end inside of the call before a label keep that, and the base
// of a list of locations in a cold part is its twin, as in the list itself.
func TestRanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, to, from, offset string }{
		{"\t.uleb128 .LVL2-.LVL1\n", ".LVL2", ".LVL1", "\t.uleb128\t.LVL2-.Lcairn_wVL1\n"},
		{"\t.uleb128 .LVL2-1-.LVL1\n", ".LVL2", ".LVL1", "\t.uleb128\t.LVL2-1-.Lcairn_wVL1\n"},
		{"\t.quad\t.LVL2\n", ".LVL2", "", "\t.quad\t.LVL2\n"},
		{"\t.quad\t.LVL2-1\n", ".LVL2", "", "\t.quad\t.LVL2-1\n"},
	} {
		s := &splitter{text: scanText([]byte(tt.line), &x86Dialect), replaced: map[int][]byte{}, twins: map[string]string{".LVL1": ".Lcairn_wVL1"}}
		if to, from, ok := s.rangeOf(0); to != tt.to || from != tt.from || !ok {
			t.Errorf("%q: %q from %q, %v; want %q from %q", tt.line, to, from, ok, tt.to, tt.from)
		}
		if got := s.offset(0, tt.to, tt.from); string(got) != tt.offset {
			t.Errorf("%q becomes %q, want %q", tt.line, got, tt.offset)
		}
	}
}

// TestScopes checks that in another order of blocks each scope of the debug information is in the one around it, as in that
// of the compilers, and that most of its code is left to it.
func TestScopes(t *testing.T) {
	t.Parallel()
	for _, build := range [][]string{
		{"gcc", "-O2", "-g"},
		{"gcc", "-O2", "-gdwarf-4", "-ffunction-sections"},
		{"clang-22", "-O2", "-g", "-fno-integrated-as", "-ffunction-sections"},
		{"clang-22", "-O2", "-gdwarf-4", "-fno-integrated-as"},
	} {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			src := asmtest.Compile(t, dir, "testdata/scopes.c", build...)
			whole := scopesOf(t, dir, src)
			left := uint64(0)
			for seed := range uint64(6) {
				laid, result := ordered(t, machine.X86_64, src, seed, 0.1)
				if len(result.Ordered) < 2 {
					t.Fatalf("%d functions are ordered", len(result.Ordered))
				}
				checkProved(t, dir, src, laid)
				left += scopesOf(t, dir, laid)
			}
			if left < whole { // of six times as many
				t.Errorf("%d bytes of scopes are left of %d", left, 6*whole)
			}
		})
	}
}

// scopesOf links text and checks that the ranges of each entry are in those of the one around it. It returns the bytes of
// inlined functions and blocks.
func scopesOf(t *testing.T, dir string, text []byte) (bytes uint64) {
	t.Helper()
	asmtest.Write(t, filepath.Join(dir, "m.s"), text)
	asmtest.Command(t, dir, "as", "--64", "-o", "m.o", "m.s")
	asmtest.Command(t, dir, "ld", "-e", "0", "--unresolved-symbols=ignore-all", "-o", "m", "m.o")
	f, err := elf.Open(filepath.Join(dir, "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	around := [][][2]uint64{nil}
	r := data.Reader()
	for {
		e, err := r.Next()
		if err != nil || e == nil {
			return bytes
		}
		if e.Tag == 0 {
			around = around[:len(around)-1]
			continue
		}
		ranges, err := data.Ranges(e)
		if err != nil {
			t.Fatal(err)
		}
		outer := around[len(around)-1]
		inner := outer
		if len(ranges) > 0 {
			inner = ranges
		}
		for _, in := range ranges {
			within := func(out [2]uint64) bool { return out[0] <= in[0] && in[1] <= out[1] }
			if in[0] < in[1] && outer != nil && !slices.ContainsFunc(outer, within) {
				t.Errorf("%v at %#x: %#x is not in %#x", e.Tag, e.Offset, in, outer)
			}
			if e.Tag == dwarf.TagInlinedSubroutine || e.Tag == dwarf.TagLexDwarfBlock {
				bytes += in[1] - in[0]
			}
		}
		if e.Children {
			around = append(around, inner)
		}
	}
}
