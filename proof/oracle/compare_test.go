//go:build linux && amd64

package oracle

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// maxShown bounds how many differences a test prints; the first is the one to
// understand.
const maxShown = 10

// tally counts what was compared and what differed.
type tally struct {
	t                  testing.TB
	compared, differed int
}

func (c *tally) check(ok bool, format string, args ...any) {
	c.t.Helper()
	c.compared++
	if ok {
		return
	}
	if c.differed++; c.differed <= maxShown {
		c.t.Errorf(format, args...)
	}
}

// done reports a comparison that proves nothing, and how much was compared.
func (c *tally) done(what string) {
	c.t.Helper()
	if c.compared == 0 {
		c.t.Errorf("%s: nothing to compare", what)
	}
	c.t.Logf("%s: %d compared, %d differ", what, c.compared, c.differed)
}

// checkCalls compares the call count of every function with the executions of
// its first instruction, which leave nothing to interpret, and with callgrind's
// own idea of calls. The latter has none where the kernel is the caller, of
// signal handlers.
func checkCalls(t testing.TB, m *prof.Module, ran execution) {
	t.Helper()
	c := tally{t: t}
	total := uint64(0)
	for i := range m.Funcs {
		f, got := &m.Funcs[i], &m.Counts[i]
		want, calls := ran.instr[f.Addr()], ran.calls[f.Addr()]
		c.check(got.Calls == want && (calls == want || calls == 0),
			"%s: %d calls, callgrind has %d executions and %d calls", f.Name, got.Calls, want, calls)
		c.check(!got.Inexact, "%s: the count is inexact", f.Name)
		c.check(got.Runs == min(want, 1), "%s: in %d runs of 1, called %d times", f.Name, got.Runs, want)
		total += want
	}
	c.done(fmt.Sprintf("counts of %d calls", total))
	if total == 0 {
		t.Error("nothing was called: that proves nothing")
	}
}

// checkCovered compares the coverage of every block of every function with
// whether its first instruction ran.
func checkCovered(t testing.TB, m *prof.Module, ran execution) {
	t.Helper()
	c := tally{t: t}
	covered := 0
	for i := range m.Funcs {
		f, got := &m.Funcs[i], &m.Counts[i]
		for b := range f.NumBlocks() {
			addr := f.BlockAddr(b)
			c.check(got.Covered(b) == (ran.instr[addr] > 0), "%s: block %d at %#x: covered %t, callgrind ran it %d times",
				f.Name, b, addr, got.Covered(b), ran.instr[addr])
			if got.Covered(b) {
				covered++
			}
		}
	}
	c.done("blocks")
	if covered == 0 || covered == c.compared {
		t.Errorf("%d of %d blocks covered: that proves little", covered, c.compared)
	}
}

// checkOrder compares the order of first executions, and the return addresses
// of the first calls, with those that a tracer saw. A profile knows a return
// address between the first and the last instrumented function of a program;
// any other is to it outside of the module.
func checkOrder(t testing.TB, m *prof.Module, seen []firstCall) {
	t.Helper()
	order := map[uint64]uint64{}
	caller := map[uint64]uint64{}
	low, high := extent(&m.Map)
	for i, call := range seen {
		order[call.Entry] = uint64(i + 1)
		if call.Return > low && call.Return <= high {
			caller[call.Entry] = call.Return
		}
	}
	c := tally{t: t}
	for i := range m.Funcs {
		f, got := &m.Funcs[i], &m.Counts[i]
		c.check(got.OrderSum == order[f.Addr()], "%s: first executed as number %d, the tracer has %d", f.Name, got.OrderSum, order[f.Addr()])
		if f.Mode != prof.ModeFull {
			continue
		}
		var want []prof.Site
		if order[f.Addr()] > 0 {
			want = []prof.Site{{Addr: caller[f.Addr()], Runs: 1}}
		}
		c.check(slices.Equal(got.Callers, want), "%s: first called from %v, the tracer has %v", f.Name, got.Callers, want)
	}
	c.done("first executions and callers")
	if len(seen) < 2 {
		t.Errorf("the tracer saw %d functions: that proves no order", len(seen))
	}
}

// extent returns where the instrumented code of a module starts and ends.
func extent(m *prof.Map) (low, high uint64) {
	low = m.Funcs[0].Addr()
	for i := range m.Funcs {
		for _, f := range m.Funcs[i].Fragments {
			low, high = min(low, f.Addr), max(high, f.Addr+uint64(f.Size))
		}
	}
	return low, high
}

// checkSame compares two profiles of the same build.
func checkSame(t testing.TB, got, want *prof.Module) {
	t.Helper()
	c := tally{t: t}
	for i := range want.Funcs {
		g, w := &got.Counts[i], &want.Counts[i]
		same := g.Runs == w.Runs && g.Calls == w.Calls && g.OrderSum == w.OrderSum && g.Inexact == w.Inexact &&
			slices.Equal(g.Blocks, w.Blocks) && slices.Equal(g.Callers, w.Callers)
		c.check(same, "%s: %+v, want %+v", want.Funcs[i].Name, *g, *w)
	}
	c.done("functions")
}
