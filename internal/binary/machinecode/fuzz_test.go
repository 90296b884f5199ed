package machinecode

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
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
		f.Add(p.Code[1].Data, places, p.Segments[1].Addr, false)
		f.Add(aarch64Code(), places, p.Segments[1].Addr, true)
	}
	f.Fuzz(func(t *testing.T, code, places []byte, text uint64, second bool) {
		p := program(0)
		if second {
			p.Machine = machine.AArch64
			p.Unwind = ehframe.TableOf([]ehframe.Row{{PC: text, CFA: ehframe.CFAStack}, {PC: text + 8, CFA: ehframe.CFAStack, Offset: 16, Frame: ehframe.FrameAtCFA}})
		}
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

// aarch64Code is code with a frame, an address in two steps, and a jump by a table.
func aarch64Code() (code []byte) {
	for _, word := range []uint32{
		0xa9be7bfd, 0x910003fd, 0x90000000, 0x91004000, 0x94000002, 0xd65f03c0, 0x90000001, 0x8b000020, 0xd61f0000, 0x58000041, 0xa8c27bfd, 0x17fffffb,
	} {
		code = binary.LittleEndian.AppendUint32(code, word)
	}
	return code
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
	b.Taken()
	for i := range b.Ranges() {
		s.Dispatches(b, &b.Ranges()[i])
		s.Blocks(b, &b.Ranges()[i])
	}
	for _, r := range s.IndirectJumps() {
		s.OfSwitch(r)
	}
	for _, r := range append(s.LeavingJumps(), s.IndirectJumps()...) {
		if r < b.First || r >= b.End {
			t.Fatalf("a jump at %d, which is no instruction", r)
		}
	}
}
