package machinecode

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// TestLazySet compares a lazy set, of which addresses are asked in any order, with one that has all code.
func TestLazySet(t *testing.T) {
	t.Parallel()
	p, _ := load(t, build(t, "-O2"))
	for _, programs := range [][]*objfile.Program{{p}, {program(0x400000), p, program(0)}} {
		all, err := NewSet(programs...)
		if err != nil {
			t.Fatal(err)
		}
		few, err := NewLazySet(programs...)
		if err != nil {
			t.Fatal(err)
		}
		compareLazy(t, all, few)
	}
}

// TestLazyLacks checks that a lazy set refuses what it cannot answer.
func TestLazyLacks(t *testing.T) {
	t.Parallel()
	s, err := NewLazySet(program(0x400000))
	if err != nil {
		t.Fatal(err)
	}
	b := s.Binaries()[0]
	at := b.From(0)
	for name, ask := range map[string]func(){
		"Runs":     func() { s.Runs(at, at) },
		"Dubious":  func() { s.Dubious(at) },
		"TailCall": func() { s.TailCall(at, at) },
		"Blocks":   func() { s.Blocks(b, &Range{}) },
		"Flow":     func() { s.Flow(b, &Range{}, nil) },
	} {
		refused := func() (r any) {
			defer func() { r = recover() }()
			ask()
			return nil
		}()
		if refused != "machinecode: "+name+" of a lazy set" {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

func compareLazy(t *testing.T, all, few *Set) {
	t.Helper()
	type place struct {
		binary int
		addr   uint64
	}
	place0 := func(s *Set, r Ref) place {
		if !r.IsInstruction() {
			return place{-1, uint64(r)}
		}
		return place{slices.Index(s.Binaries(), s.Binary(r)), s.Address(r)}
	}
	var places []place
	for i, b := range all.Binaries() {
		for k := range b.texts {
			for off := range b.texts[k].data {
				places = append(places, place{i, b.texts[k].addr + uint64(off)})
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(places), func(i, k int) { places[i], places[k] = places[k], places[i] })
	for _, p := range places {
		a, b := all.Binaries()[p.binary].At(p.addr), few.Binaries()[p.binary].At(p.addr)
		if place0(all, a) != place0(few, b) {
			t.Fatalf("%x: %v, and when all is read %v", p, place0(few, b), place0(all, a))
		}
		if !a.IsInstruction() {
			continue
		}
		ta, oka := all.Target(a)
		tb, okb := few.Target(b)
		if all.Class(a) != few.Class(b) || all.Departs(a) != few.Departs(b) || all.Size(a) != few.Size(b) || ta != tb || oka != okb ||
			place0(all, all.CallBefore(a)) != place0(few, few.CallBefore(b)) || all.OfSwitch(a) != few.OfSwitch(b) {
			t.Fatalf("%x: %v, call %x; when all is read %v, call %x", p, few.Class(b), place0(few, few.CallBefore(b)), all.Class(a), place0(all, all.CallBefore(a)))
		}
		ca, oka := all.Constant(a)
		cb, okb := few.Constant(b)
		if ca != cb || oka != okb {
			t.Fatalf("%x: the constant %x, and when all is read %x", p, cb, ca)
		}
	}
	for i, b := range all.Binaries() {
		few.ReadAll(few.Binaries()[i])
		for k := range b.Ranges() {
			a, o := all.Dispatches(b, &b.Ranges()[k]), few.Dispatches(few.Binaries()[i], &few.Binaries()[i].Ranges()[k])
			if len(a) != len(o) {
				t.Fatalf("%d indirect calls, and when all is read %d", len(o), len(a))
			}
			for at, d := range a {
				if got := o[few.Binaries()[i].At(all.Address(at))]; got != d {
					t.Errorf("%x: %v, and when all is read %v", all.Address(at), got, d)
				}
			}
		}
	}
	for _, lists := range [][2][]Ref{{all.LeavingJumps(), few.LeavingJumps()}, {all.IndirectJumps(), few.IndirectJumps()}} {
		same := func(a, b Ref) bool { return place0(all, a) == place0(few, b) }
		if !slices.EqualFunc(lists[0], lists[1], same) {
			t.Errorf("%d jumps, and when all is read %d", len(lists[1]), len(lists[0]))
		}
	}
}

// TestReadJumpsTo checks for random code that no jump to a function is missing, and that not all code is read for it.
func TestReadJumpsTo(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	read, pieces := 0, 0
	kinds := map[byte]int{}
	for range 20 {
		p := randomJumps(r)
		all, err := NewSet(p)
		if err != nil {
			t.Fatal(err)
		}
		for k := range all.Binaries()[0].Ranges() {
			few, err := NewLazySet(p)
			if err != nil {
				t.Fatal(err)
			}
			to := few.Binaries()[0].Ranges()[k]
			few.ReadJumpsTo(few.Binaries()[0], []*Range{&to})
			want := jumpsTo(all, &to)
			if got := jumpsTo(few, &to); !slices.Equal(got, want) {
				t.Fatalf("jumps to %#x: at %#x, want %#x", to.Lo, got, want)
			}
			for _, at := range want {
				kinds[p.Code[0].Data[at-p.Code[0].Addr]]++
			}
			for _, piece := range few.Binaries()[0].texts[0].pieces {
				if pieces++; piece.read {
					read++
				}
			}
		}
	}
	if read > pieces/3 {
		t.Errorf("%d of %d pieces were read", read, pieces)
	}
	for _, first := range []byte{0xe9, 0x0f, 0xc7, 0xeb, 0x74, 0x2e} {
		if kinds[first] < 10 {
			t.Errorf("only %d jumps begin with %#x", kinds[first], first)
		}
	}
}

// randomJumps returns a program of functions that jump to each other, also to the middle, between bytes of any kind.
func randomJumps(r *rand.Rand) *objfile.Program {
	const base, functions, size = 0x401000, 40, 100
	text := make([]byte, functions*size)
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	p := &objfile.Program{Path: "prog", Segments: []objfile.Segment{{Addr: base, Size: uint64(len(text)), Offset: 0x1000, Exec: true}}}
	for f := range functions {
		begin := f*size + r.IntN(20)
		p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: strconv.Itoa(f), Addr: base + uint64(begin), Size: uint64((f+1)*size - begin)}, Func: true, Section: 1})
		at := begin
		for range r.IntN(6) {
			at += copy(text[at:], []string{"\xe9", "\x0f\x85", "\xc7\xf8", "\x2e\xe9"}[r.IntN(4)]) + 4
			binary.LittleEndian.PutUint32(text[at-4:], uint32(r.IntN(len(text))-at))
		}
		if r.IntN(2) == 0 {
			at = (f+1)*size - 2 - r.IntN(3)
			copy(text[at:], []string{"\xeb", "\x74"}[r.IntN(2)])
			text[at+1] = byte(r.IntN(128))
		}
	}
	last := text[len(text)-20:]
	copy(last, slices.Repeat([]byte{0x90}, len(last)))
	last[15] = 0xe9
	binary.LittleEndian.PutUint32(last[16:], -uint32(r.IntN(len(text))))
	p.Code = []objfile.CodeSection{{Name: ".text", Index: 1, Addr: base, Data: text}}
	return p
}

// jumpsTo are the addresses of the jumps of a set that leave their range to another one.
func jumpsTo(s *Set, to *Range) (out []uint64) {
	for _, r := range s.LeavingJumps() {
		if addr, ok := s.Target(r); ok && addr >= to.Lo && addr < to.Hi {
			out = append(out, s.Address(r))
		}
	}
	return out
}
