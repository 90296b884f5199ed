package tailcall

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// TestRestorer restores stacks that begin as the one before as it does alone.
func TestRestorer(t *testing.T) {
	t.Parallel()
	s := code(t)
	b := s.Binaries()[0]
	shown := []unwind.Context{seen(s, 100, 0x42, 0x05, 0x33), ends(s, 100, 0x42, 0x05)}
	for name, contexts := range map[string][]unwind.Context{"alone": nil, "branches": shown} {
		g := NewGraph(s, contexts)
		for _, by := range []Inferrer{NewLLVM(g, 0), NewFull(g, nil)} {
			r := rand.New(rand.NewPCG(1, 2))
			shared, c := NewRestorer(s, by), unwind.Context{}
			missing := 0
			for range 20000 {
				keep := r.IntN(len(c.Frames) + 1)
				c.Frames, c.Known = slices.Clone(c.Frames[:keep]), slices.Clone(c.Known[:min(keep, len(c.Known))])
				for len(c.Frames) < 1+r.IntN(8) {
					at := b.First + ref(r.IntN(int(b.End-b.First)))
					if s.Class(at).IsCall() || r.IntN(8) == 0 {
						c.Frames = append(c.Frames, at)
					}
				}
				if c.Known = c.Known[:min(len(c.Known), len(c.Frames))]; r.IntN(2) == 0 {
					c.Known = nil
				}
				for i := len(c.Known); r.IntN(2) == 0 && i < len(c.Frames); i++ {
					c.Known = append(c.Known, r.IntN(4) == 0)
				}
				if len(c.Known) != len(c.Frames) {
					c.Known = nil
				}
				leaf := b.First + ref(r.IntN(int(b.End-b.First)))
				got, want := shared.Restore(&c, leaf), Restore(s, by, &c, leaf)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %T: %v is %v, want %v", name, by, c, got, want)
				}
				missing += len(want) - len(c.Frames)
			}
			if missing == 0 && name == "branches" {
				t.Errorf("%T restored nothing", by)
			}
		}
	}
}
