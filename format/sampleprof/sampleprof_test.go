package sampleprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// nested is a function with a call, an inlined copy in an inlined copy, and one
// that never ran.
func nested() Profile {
	p := Profile{}
	f := p.Func("outer")
	f.Head = 5
	f.At(Place{Offset: 1}).Count = 5
	l := f.At(Place{Offset: 10, Discriminator: 2})
	l.Count = 7
	l.Call("b", 3)
	l.Call("a", 3)
	l.Call("c", 4)
	in := f.Inline(Place{Offset: 2}, "inner")
	in.At(Place{Offset: 0}).Count = 4
	in.Inline(Place{Offset: 65529}, "innermost").At(Place{Offset: 3}).Count = 1
	p.Func("idle")
	return p
}

const nestedText = `outer:17:5
 1: 5
 10.2: 7 c:4 a:3 b:3
 2: inner:5
  0: 4
  65529: innermost:1
   3: 1
idle:0:0
`

func TestWrite(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Write(&b, nested()); err != nil {
		t.Fatal(err)
	}
	if b.String() != nestedText {
		t.Errorf("got\n%swant\n%s", &b, nestedText)
	}
	tool, err := exec.LookPath("llvm-profdata-22")
	if err != nil {
		t.Skip(err)
	}
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "merge", "--sample", "--text", in, "-o", "-").Output()
	if err != nil || string(out) != nestedText {
		t.Errorf("llvm-profdata makes of it %v\n%s", err, out)
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	p := nested()
	p["outer"].Add(nested()["outer"])
	f := p["outer"]
	if f.Head != 10 || f.Total() != 34 || f.At(Place{10, 2}).Callees["c"] != 8 {
		t.Errorf("head %d, total %d, calls of c %d, want 10, 34, 8", f.Head, f.Total(), f.At(Place{10, 2}).Callees["c"])
	}
	f.At(Place{Offset: 1}).Count = ^uint64(0)
	if got := f.Total(); got != ^uint64(0) {
		t.Errorf("total %d does not saturate", got)
	}
}

func TestBaseDiscriminator(t *testing.T) {
	t.Parallel()
	// As LLVM encodes them: doubled, with a bit more from 32 on; 1 is none. The low
	// bits of a pseudo probe are all set: 0x1b21001f has one of its block's, and of
	// 0x0b2002e7 the probe counts.
	for d, want := range map[uint32]uint32{
		0: 0, 2: 1, 4: 2, 0x3e: 31, 7: 0, 0x1: 0, 0x40 | 0x80: 0x20, 0x1b21001f: 1, 0x0b2002e7: 92,
	} {
		if got := BaseDiscriminator(d); got != want {
			t.Errorf("%#x: %d, want %d", d, got, want)
		}
	}
}

func TestDuplicationFactor(t *testing.T) {
	t.Parallel()
	for d, want := range map[uint32]uint32{0: 1, 2: 1, 1 | 4<<1: 2, 2 | 4<<7: 2, 0x42 | 8<<14: 4} {
		if got := DuplicationFactor(d); got != want {
			t.Errorf("%#x: %d, want %d", d, got, want)
		}
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	s := &Samples{}
	s.At(Place{Offset: 3}).Count = 4
	s.At(Place{Offset: 3}).Call("f", 9)
	if s.Total() != 4 || s.EntryCount() != 4 {
		t.Errorf("total %d, entered %d times", s.Total(), s.EntryCount())
	}
	s.RaiseCalls()
	if s.At(Place{Offset: 3}).Count != 9 || s.Total() != 4 {
		t.Errorf("with its calls %d, total %d", s.At(Place{Offset: 3}).Count, s.Total())
	}
	s.AddTotal(5)
	if s.Total() != 9 {
		t.Errorf("total %d", s.Total())
	}
	s.Inline(Place{Offset: 1}, "g").At(Place{Offset: 1}).Count = 7
	s.Inline(Place{Offset: 1}, "h").Head = 8
	if s.EntryCount() != 15 {
		t.Errorf("entered %d times", s.EntryCount())
	}
	s.Head = 2
	if s.EntryCount() != 2 {
		t.Errorf("entered %d times by its head", s.EntryCount())
	}
}

const contextsText = `[main:5 @ mid:2.1 @ leaf]:12:3
 1: 12 f:2 g:2
 !CFGChecksum: 77
 !Attributes: 1
[leaf]:5:0
 2: 5
 !CFGChecksum: 77
[mid]:5:5
 1: 5
`

func TestWriteContexts(t *testing.T) {
	t.Parallel()
	leaf := &Samples{Head: 3, Probes: true, Checksum: 77, Attributes: WasInlined}
	l := leaf.At(Place{Offset: 1})
	l.Count = 12
	l.Call("g", 2)
	l.Call("f", 2)
	mid := &Samples{Head: 5}
	mid.At(Place{Offset: 1}).Count = 5
	alone := &Samples{Probes: true, Checksum: 77}
	alone.At(Place{Offset: 2}).Count = 5
	var b bytes.Buffer
	err := WriteContexts(&b, []Context{
		{Frames: []Frame{{Func: "mid"}}, Samples: mid},
		{Frames: []Frame{{Func: "main", Call: Place{Offset: 5}}, {Func: "mid", Call: Place{2, 1}}, {Func: "leaf"}}, Samples: leaf},
		{Frames: []Frame{{Func: "leaf"}}, Samples: alone},
	})
	if err != nil || b.String() != contextsText {
		t.Errorf("%v\n%s", err, &b)
	}
}
