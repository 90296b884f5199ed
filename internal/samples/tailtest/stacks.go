package tailtest

import (
	"context"
	"fmt"
	"slices"

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
	Short   int // the innermost calls are correct, and others are missing
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
		kind.add(c.Frames, calls, ok)
	})
	return t, err
}

func (k *StackKinds) add(got, want []ref, ok bool) {
	n := min(len(got), len(want))
	switch {
	case !ok:
		k.Dropped++
	case !slices.Equal(got[len(got)-n:], want[len(want)-n:]):
		k.Untrue++
	case len(got) < len(want):
		k.Short++
	default:
		k.Exact++
	}
}
