package split

import (
	"bytes"
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
)

// TestFitsLoops puts a loop at each place of a line of the cache: if it ran often, it is in no more lines than it needs, in
// functions whose blocks keep their order and in others; if it ran seldom in the whole program, or has few rounds, or the function is
// not aligned or none is to be padded, it stays as the compiler aligned it.
func TestFitsLoops(t *testing.T) {
	t.Parallel()
	const (
		body = "\taddl\t%edi, %esi\n\txorl\t$77, %esi\n\timull\t%esi, %eax\n\tmovl\t%eax, 16(%rdx)\n" // 2, 3, 3 and 3 bytes
		loop = ".L2:\n\tdecl\t%edi\n"
		head = "\t.text\n\t.p2align 4\n\t.type\tf, @function\nf:\n\txorl\t%eax, %eax\n"
	)
	ends := map[string]string{ // the second has its first way out in the middle of what runs
		"text order": "\tjne\t.L2\n\tmovl\t$3, %esi\n\tret\n\t.size\tf, .-f\n",
		"new order":  "\tje\t.L4\n\tmovl\t$3, %esi\n\tjmp\t.L2\n.L4:\n\tret\n\t.size\tf, .-f\n",
	}
	flows := map[string]*Flow{
		"text order": {Times: []uint64{10, 90000, 10}, Edges: []Edge{{0, 1, 10}, {1, 1, 89990}, {1, 2, 10}}},
		"new order":  {Times: []uint64{10, 90000, 89990, 10}, Edges: []Edge{{0, 1, 10}, {1, 2, 89990}, {1, 3, 10}, {2, 1, 89990}}},
	}
	for name, flow := range flows {
		for _, bodies := range []int{1, 2, 5, 6, 10} {
			for before := range cacheLine / 5 {
				text := head + strings.Repeat("\tnop\n", 5*before) + "\t.p2align 4,,10\n\t.p2align 3\n" + loop + strings.Repeat(body, bodies) + "\tdecl\t%ecx\n" + ends[name]
				for why, out := range map[string]string{
					"ran seldom":     splitLoop(t, text, flow, Options{Executed: 90000 * copiedShare * 2}),
					"few rounds":     splitLoop(t, text, entered(flow, 90000/(minRounds-1)), Options{Executed: 90000 * 10}),
					"for size":       splitLoop(t, strings.Replace(text, ".p2align 4\n", ".align 2\n", 1), flow, Options{Executed: 90000 * 10}),
					"as it is asked": splitLoop(t, text, flow, Options{Executed: 90000 * 10, Unaligned: true}),
				} {
					if strings.Contains(out, ".p2align\t6") {
						t.Fatalf("%s, %s: aligned to a line:\n%s", name, why, out)
					}
				}
				out := splitLoop(t, text, flow, Options{Executed: 90000 * 10})
				if before > 0 && before != 7 && bodies != 5 {
					continue
				}
				dir := t.TempDir()
				checkProved(t, dir, []byte(text), []byte(out))
				first, last := loopIn(t, filepath.Join(dir, "p.o"))
				if lines, least := last/cacheLine-first/cacheLine+1, (last-first+cacheLine)/cacheLine; lines > least {
					t.Errorf("%s, %d times %d bytes after %d: from %#x to %#x, in\n%s", name, bodies, len(body), 5*before, first, last, out)
				}
			}
		}
	}
}

// splitLoop splits the function of a text, of which all blocks ran.
func splitLoop(t *testing.T, text string, flow *Flow, opts Options) string {
	t.Helper()
	unit, err := isa.Parse([]byte(text), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	opts.Flow = func(FuncInfo) *Flow { return flow }
	out, result := Split(unit, func(f FuncInfo) ([]bool, bool) { return make([]bool, f.Blocks), true }, opts)
	if len(result.Refused) > 0 {
		t.Fatal(result.Refused)
	}
	return string(out)
}

// entered returns a flow of TestFitsLoops with other times that its loop is entered, and so less that it goes round.
func entered(f *Flow, times uint64) *Flow {
	f = &Flow{slices.Clone(f.Times), slices.Clone(f.Edges)}
	for i := range f.Times {
		if f.Times[i] == 10 {
			f.Times[i] = times
		}
	}
	for i := range f.Edges {
		if f.Edges[i].Times == 10 {
			f.Edges[i].Times = times
		} else {
			f.Edges[i].Times -= times
		}
	}
	return f
}

// loopIn returns the places of the first and the last byte of the only loop in the section .text of an object, which ends in a short jump.
func loopIn(t *testing.T, object string) (first, last int) {
	t.Helper()
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(code) - 1 {
		if back := int(int8(code[i+1])); bytes.IndexByte([]byte{0x74, 0x75, 0xeb}, code[i]) >= 0 && back < 0 {
			return i + 2 + back, i + 1
		}
	}
	t.Fatalf("no loop in % x", code)
	return 0, 0
}
