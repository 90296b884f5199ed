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
	// As LLVM encodes them: doubled, with a bit more from 32 on; 1 is none, and
	// the low bits of a pseudo probe are all set.
	for d, want := range map[uint32]uint32{0: 0, 2: 1, 4: 2, 0x3e: 31, 7: 0, 0x1: 0, 0x40 | 0x80: 0x20} {
		if got := BaseDiscriminator(d); got != want {
			t.Errorf("%#x: %d, want %d", d, got, want)
		}
	}
}
