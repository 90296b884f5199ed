package account

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// TestPieces checks that a thread replayed in pieces has the calls of the whole thread, each in
// the piece that it belongs to.
func TestPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := drawStacks(rt)
		log := memory(parts)
		opt := Options{
			UpperBound: rapid.Bool().Draw(rt, "upper"), DropOpen: rapid.Bool().Draw(rt, "drop"),
			depth: rapid.SampledFrom([]int{0, 3}).Draw(rt, "depth"),
		}
		text := func(c *Call, trie *calltrie.Trie) string {
			return fmt.Sprint(c.ID, c.Parent, c.Func, c.Depth, c.Start, c.Duration, c.Self, c.End, c.Args, c.CPU, trie.Stack(c.Node))
		}
		var want []string
		replay := NewReplay(log, 0, opt)
		for c, err := range replay.All(t.Context()) {
			if err != nil {
				rt.Fatal(err)
			}
			want = append(want, text(c, replay.Trie()))
		}
		p, err := newPieces(t.Context(), log, 0, opt, rapid.IntRange(1, 3).Draw(rt, "step"))
		if err != nil {
			rt.Fatal(err)
		}
		var got []string
		var trie *calltrie.Trie
		var piece *Piece
		wants := func(x *Piece) bool { piece = x; return true }
		for c, err := range p.Calls(t.Context(), wants, func(t *calltrie.Trie) { trie = t }) {
			if err != nil {
				rt.Fatal(err)
			}
			if x := piece; x != nil && (c.ID < x.First || c.ID > x.Last || c.Start < x.Begin || c.Start+c.Duration > x.End) {
				rt.Fatalf("%s in a piece of %d to %d, %d to %d", text(c, trie), x.First, x.Last, x.Begin, x.End)
			}
			got = append(got, text(c, trie))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Fatalf("got\n%q\nwant\n%q", got, want)
		}
	})
}
