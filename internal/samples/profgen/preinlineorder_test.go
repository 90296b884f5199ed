package profgen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/sampleprof"
)

// contextsOf makes contexts of lines "main:1 @ f:2 @ g 30", each of so many calls of
// its last function, which has one place.
func contextsOf(t *testing.T, text string) []sampleprof.Context {
	t.Helper()
	var out []sampleprof.Context
	for line := range strings.Lines(text) {
		stack, count, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		c := sampleprof.Context{Samples: &sampleprof.Samples{Probes: true}}
		if _, err := fmt.Sscan(count, &c.Samples.Head); err != nil {
			t.Fatal(err)
		}
		c.Samples.At(sampleprof.Place{Offset: 1}).Count = c.Samples.Head
		for f := range strings.SplitSeq(stack, " @ ") {
			name, at, _ := strings.Cut(f, ":")
			frame := sampleprof.Frame{Func: name}
			fmt.Sscan(at, &frame.Call.Offset)
			c.Frames = append(c.Frames, frame)
		}
		out = append(out, c)
	}
	return out
}

func TestTopDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, contexts, want string
		cold                 uint64
	}{
		{"callers first", "z = 1\nz:1 @ a = 5\nz:1 @ a:2 @ m = 3\nz:2 @ m = 1", "z a m", 0},
		{"cold calls do not count", "z = 1\nz:1 @ a = 5\nz:1 @ a:2 @ m = 3", "z m a", 3},
		// The hottest call of the circle is b -> c, so that b comes before c, and
		// of the others the hotter one leads to b.
		{"circles along the hottest calls", "main = 1\nmain:1 @ a = 1\na = 9\na:1 @ b = 20\nb = 9\nb:1 @ c = 30\nc = 9\nc:1 @ a = 10", "main a b c", 0},
		{"a function that calls itself", "f = 3\nf:1 @ f = 9\nf:2 @ g = 1", "f g", 0},
		{"none", "", "", 0},
	} {
		var root node
		for _, x := range contextsOf(t, c.contexts) {
			root.path(x.Frames).samples = x.Samples
		}
		if got := strings.Join(topDown(&root, c.cold), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	// What has no code is first, then the hottest, then the smallest.
	want := []candidate{{size: 0, count: 1}, {size: 90, count: 9}, {size: 10, count: 8}, {size: 20, count: 8}, {size: 20, count: 8, guid: 0}, {size: 1, count: 2}}
	want[3].guid = 7
	var h candidates
	for _, i := range []int{5, 2, 4, 0, 3, 1} {
		h.push(want[i])
	}
	var got []candidate
	for len(h) > 0 {
		got = append(got, h.pop())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestPreinlineRecursion checks that counts are kept when a recursive function is merged into
// itself, except for those that LLVM loses, if its behaviour is requested.
func TestPreinlineRecursion(t *testing.T) {
	t.Parallel()
	const contexts = "main = 1\nf = 10\nf:1 @ f = 20\nf:1 @ f:1 @ f = 40\nf:1 @ f:1 @ f:1 @ g = 80"
	for _, lossy := range []bool{false, true} {
		o := NewPreinline()
		o.MaxLimit, o.MinLimit, o.Lossy = 0, 0, lossy // nothing is inlined
		out, done := o.Contexts(contextsOf(t, contexts))
		total := sampleprof.Summarize(out).Total
		t.Logf("%+v", out)
		if want := map[bool]uint64{false: 151, true: 111}[lossy]; total != want || done.Inlined != 0 || done.Own != len(out) {
			t.Errorf("lossy %v: of 151 counts %d are left, %+v", lossy, total, done)
		}
	}
}

// TestSizes checks that the size of a context is that of its code with the most callers around
// it.
func TestSizes(t *testing.T) {
	t.Parallel()
	var z Sizes
	at := func(n uint32) sampleprof.Place { return sampleprof.Place{Offset: n} }
	g := z.root.get(frame{name: "g"})
	g.add(100)
	inF := g.get(frame{at(1), "f"})
	inF.add(7)
	inF.get(frame{at(2), "main"}).add(3)
	z.root.get(frame{name: "inlined"}).get(frame{at(4), "f"}).add(9)
	for context, want := range map[string]int{
		"g = 1":                           100,
		"x:1 @ g = 1":                     100, // not inlined there
		"f:1 @ g = 1":                     7,
		"main:2 @ f:1 @ g = 1":            3,
		"main:9 @ f:1 @ g = 1":            7,
		"x:1 @ main:2 @ f:1 @ g = 1":      3,
		"x:1 @ inlined = 1":               9, // there is code of it elsewhere only
		"main:2 @ f:1 @ nobody = 1":       9, // LLVM takes the first function that it has
		"main:2 @ f:1 @ nobody:3 @ g = 1": 100,
	} {
		var root node
		if got := z.of(root.path(contextsOf(t, context)[0].Frames)); got != want {
			t.Errorf("%s: %d bytes, want %d", context, got, want)
		}
	}
}
