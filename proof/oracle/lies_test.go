//go:build linux && amd64

package oracle

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// listener takes the errors of a comparison that is to fail.
type listener struct {
	testing.TB
	errors []string
}

func (l *listener) Helper()                           {}
func (l *listener) Logf(string, ...any)               {}
func (l *listener) Error(args ...any)                 { l.errors = append(l.errors, fmt.Sprint(args...)) }
func (l *listener) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }

// TestLiesAreNoticed checks that the comparisons can fail: a profile that is wrong in one
// place, in the smallest way, does not pass.
func TestLiesAreNoticed(t *testing.T) {
	t.Parallel()
	program := build(t, "full", "gcc", "-O2", "-w", filepath.Join("testdata", "flow.c"))
	_, ran, counted := callgrind(t, program)
	_, seen, traced := trace(t, program)
	calls := func(t testing.TB, m *prof.Module) { checkCalls(t, m, ran) }
	covered := func(t testing.TB, m *prof.Module) { checkCovered(t, m, ran) }
	order := func(t testing.TB, m *prof.Module) { checkOrder(t, m, seen) }
	same := func(t testing.TB, m *prof.Module) { checkSame(t, m, counted) }
	for _, test := range []struct {
		name  string
		m     *prof.Module
		check func(testing.TB, *prof.Module)
		lie   func(fib *prof.Counts)
	}{
		{"a call too many", counted, calls, func(c *prof.Counts) { c.Calls++ }},
		{"a call too few", counted, calls, func(c *prof.Counts) { c.Calls-- }},
		{"marked as inexact", counted, calls, func(c *prof.Counts) { c.Inexact = true }},
		{"never ran", counted, covered, func(c *prof.Counts) { c.Runs = 0 }},
		{"a block is not covered", counted, covered, func(c *prof.Counts) { c.Blocks[slices.Index(c.Blocks, 1)] = 0 }},
		{"the next in order", traced, order, func(c *prof.Counts) { c.OrderSum++ }},
		{"called from the next byte", traced, order, func(c *prof.Counts) { c.Callers[0].Addr++ }},
		{"called from nowhere", traced, order, func(c *prof.Counts) { c.Callers = nil }},
		{"differs in a block", counted, same, func(c *prof.Counts) { c.Blocks[0] ^= 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := *test.m
			m.Counts = slices.Clone(m.Counts)
			fib := &m.Counts[slices.IndexFunc(m.Funcs, func(f prof.Func) bool { return f.Name == "fib" })]
			fib.Blocks, fib.Callers = slices.Clone(fib.Blocks), slices.Clone(fib.Callers)
			l := &listener{TB: t}
			test.check(l, &m)
			if len(l.errors) > 0 {
				t.Fatalf("the truth did not pass: %q", l.errors)
			}
			test.lie(fib)
			if test.check(l, &m); len(l.errors) != 1 {
				t.Errorf("noticed %q, want one complaint", l.errors)
			}
		})
	}
}
