package tailtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/sample"
)

// StackTally counts stacks by whether their calls are correct. Tail calls, which are on no
// stack, do not count.
type StackTally struct {
	Stacks int // with a true stack
	// Lacking is the number of stacks that were recorded without the innermost call.
	Lacking int
	Kinds   [2]StackKinds // of complete stacks, and of those that lack it
}

// StackKinds counts the results for stacks.
type StackKinds struct {
	Exact   int
	Short   int // some calls are missing: the outermost ones, or those at a mark that says so
	Untrue  int
	Dropped int // rejected
}

func (k *StackKinds) all() int { return k.Exact + k.Short + k.Untrue + k.Dropped }

// Sum returns the kinds of all stacks.
func (t *StackTally) Sum() StackKinds {
	a, b := t.Kinds[0], t.Kinds[1]
	return StackKinds{a.Exact + b.Exact, a.Short + b.Short, a.Untrue + b.Untrue, a.Dropped + b.Dropped}
}

// String returns the counts in a line.
func (t *StackTally) String() string {
	show := func(k StackKinds) string {
		n := float64(max(k.all(), 1)) / 100
		return fmt.Sprintf("%.2f%% exact, %.2f%% short, %.3f%% untrue, %.2f%% dropped",
			float64(k.Exact)/n, float64(k.Short)/n, float64(k.Untrue)/n, float64(k.Dropped)/n)
	}
	return fmt.Sprintf("%d stacks: %s; %d lack the caller: %s", t.Stacks, show(t.Sum()), t.Lacking, show(t.Kinds[1]))
}

// JudgeStacks compares the stacks of all samples, with these options, with the truth. Frames
// further out than a call from outside are not known, and count as correct.
func (r *Recording) JudgeStacks(ctx context.Context, opt unwind.Options) (t StackTally, err error) {
	u := unwind.New(r.Code, opt)
	err = r.eachTrue(ctx, u, func(s *sample.Sample, want *stack) {
		c, leaf, ok := u.Moment(s)
		if last := want.frames[len(want.frames)-1]; !last.IsInstruction() || ok && leaf != last {
			return
		}
		calls := want.frames[:len(want.frames)-1]
		lacks := len(calls) > 0 && (len(s.Stack) < 2 || r.Code.CallBefore(u.Instruction(s.PID, s.Stack[1])) != calls[len(calls)-1])
		kind := &t.Kinds[0]
		if t.Stacks++; lacks {
			t.Lacking++
			kind = &t.Kinds[1]
		}
		kind.add(c.Frames, calls, ok, r.isFrame)
	})
	return t, err
}

// isFrame reports whether a frame of a stack is the true call, or an instruction of the function
// that makes it: of such a frame only the function is known.
func (r *Recording) isFrame(got, want ref) bool {
	return got == want || !r.Code.Class(got).IsCall() && r.Code.SameFunction(got, want)
}

// add counts a stack. Frames of other binaries split it: those further out are not in want.
func (k *StackKinds) add(got, want []ref, ok bool, same func(got, want ref) bool) {
	for i := len(got) - 1; i >= 0; i-- {
		if got[i] == machinecode.External {
			got = got[i+1:]
			break
		}
	}
	if i := slices.Index(got, machinecode.Missing); ok && i >= 0 {
		k.marked(got[:i], got[i+1:], want, same)
		return
	}
	n := min(len(got), len(want))
	switch {
	case !ok:
		k.Dropped++
	case !slices.EqualFunc(got[len(got)-n:], want[len(want)-n:], same):
		k.Untrue++
	case len(got) < len(want):
		k.Short++
	default:
		k.Exact++
	}
}

// marked counts a stack with a mark where calls are missing: those further in are the innermost
// ones, and those further out are all before them.
func (k *StackKinds) marked(outer, inner, want []ref, same func(got, want ref) bool) {
	n := len(want) - len(inner)
	if n < 0 || !slices.EqualFunc(inner, want[n:], same) || len(outer) > n || !slices.EqualFunc(outer, want[:len(outer)], same) {
		k.Untrue++
		return
	}
	k.Short++
}
