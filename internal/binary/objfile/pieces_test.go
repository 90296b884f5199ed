package objfile

import (
	"os/exec"
	"slices"
	"testing"
)

// TestPieces checks that the pieces of a program are contiguous, and that each has the scopes
// that all of its addresses have.
func TestPieces(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	_, bin := build(t, "gcc", "-g", "-O2")
	scopes, err := open(t, bin).Scopes()
	if err != nil {
		t.Fatal(err)
	}
	first, last := scopes.pieces[0].addr, scopes.pieces[len(scopes.pieces)-1].addr
	lo, hi := first-9, last+9
	at, inlined := lo, 0
	for piece, stack := range scopes.Pieces(lo, hi) {
		if piece[0] != at || piece[1] <= at {
			t.Fatalf("a piece of %#x behind %#x", piece, at)
		}
		for at = piece[0]; at < piece[1]; at++ {
			if want := scopes.At(at); !slices.Equal(stack, want) {
				t.Errorf("%#x: %+v, want %+v", at, stack, want)
			}
		}
		if len(stack) > 1 {
			inlined++
		}
	}
	if at != hi || inlined == 0 {
		t.Errorf("pieces end at %#x, and %d are of inlined functions", at, inlined)
	}
	for range scopes.Pieces(5, 5) {
		t.Error("nothing has a piece")
	}
}
