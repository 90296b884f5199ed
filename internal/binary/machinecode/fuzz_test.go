package machinecode

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// FuzzSet: whatever bytes code has and wherever symbols are, instructions are numbered
// by their addresses, and what is known of one is true of it.
func FuzzSet(f *testing.F) {
	for _, p := range []*objfile.Program{program(0x400000), program(0)} {
		var places []byte
		for _, s := range p.Symbols {
			places = binary.LittleEndian.AppendUint16(places, uint16(s.Addr-p.Segments[1].Addr))
			places = binary.LittleEndian.AppendUint16(places, uint16(s.Size))
		}
		f.Add(p.Code[1].Data, places, p.Segments[1].Addr)
	}
	f.Fuzz(func(t *testing.T, code, places []byte, text uint64) {
		p := program(0)
		p.Segments[1] = objfile.Segment{Addr: text, Size: uint64(len(code)), Offset: 0x1000, Exec: true}
		p.Code = []objfile.CodeSection{{Name: ".text", Index: 3, Addr: text, Data: code}}
		p.Symbols, p.Ranges = nil, nil
		for ; len(places) >= 4 && len(p.Symbols) < 100; places = places[4:] {
			at, size := binary.LittleEndian.Uint16(places), binary.LittleEndian.Uint16(places[2:])
			p.Symbols = append(p.Symbols, objfile.TableSymbol{
				Symbol: objfile.Symbol{Name: string(rune('a' + len(p.Symbols)%26)), Addr: text + uint64(at), Size: uint64(size)}, Func: true, Section: 3,
			})
			p.Ranges = append(p.Ranges, objfile.ScopeRange{Name: "f", Lo: text + uint64(at), Hi: text + uint64(at) + uint64(size)})
		}
		slices.SortFunc(p.Symbols, func(a, b objfile.TableSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
		s, err := NewSet(p)
		if err != nil {
			return
		}
		askAll(t, s)
	})
}

// askAll asks for all that is known of instructions.
func askAll(t *testing.T, s *Set) {
	t.Helper()
	b := s.Binaries()[0]
	for r := b.First; r < b.End; r++ {
		addr := s.Address(r)
		if b.At(addr) != r || (r > b.First && s.Address(r-1) >= addr) {
			t.Fatalf("instruction %d is at %#x, where %d is", r, addr, b.At(addr))
		}
		if before := s.CallBefore(r); before.IsInstruction() && !s.Class(before).IsCall() {
			t.Fatalf("what is before %#x is no call", addr)
		}
		in, end := s.Extent(r)
		if in != nil && (end <= r || addr < in.Lo || addr >= in.Hi) {
			t.Fatalf("%#x is in a function of %#x to %#x", addr, in.Lo, in.Hi)
		}
		if to, ok := s.Target(r); ok {
			s.TailCall(r, b.At(to))
		}
		s.Constant(r)
		s.Departs(r)
		s.Frame(r)
		s.Dubious(r)
		s.Runs(r, min(r+3, b.End-1))
	}
	for _, r := range append(s.LeavingJumps(), s.IndirectJumps()...) {
		if r < b.First || r >= b.End {
			t.Fatalf("a jump at %d, which is no instruction", r)
		}
	}
}
