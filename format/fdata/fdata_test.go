package fdata

import (
	"bytes"
	"math"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WriteBranches(&b, []Branch{
		{Place{"main", 0x2a}, Place{"hot/1", 0}, 7},
		{Unknown, Place{"operator new", 0}, math.MaxUint64},
	}); err != nil {
		t.Fatal(err)
	}
	want := "1 main 2a 1 hot/1 0 0 7\n0 [unknown] 0 1 operator\\ new 0 0 9223372036854775\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
	b.Reset()
	if err := WriteSamples(&b, "cairn", []Sample{{Place{"main", 0x10}, 3}}); err != nil {
		t.Fatal(err)
	}
	if want := "no_lbr cairn:\n1 main 10 3\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}
