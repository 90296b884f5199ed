package tailcall

import (
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// Inferrer finds the frames that tail calls left out of stacks.
type Inferrer interface {
	// Infer is called for two adjacent entries of a stack: stack[i] is a call, and
	// stack[i+1] a call or a jump, or at the end an instruction that ran. It returns
	// the jumps from the called function to the function that contains stack[i+1], in
	// the order in which they were taken, and the rule that found them, or the reason
	// why there are none. Known reports that nothing else is missing; without it there
	// are no jumps.
	//
	// The stack is as it was sampled, outermost first, except that recursion is
	// compressed. Infer must not keep or change it.
	Infer(stack []machinecode.Ref, i int) (jumps []machinecode.Ref, rule string, known bool)
	// Sees returns how many entries after stack[i] the results of Infer depend on, at most.
	Sees() int
}

// Frame is a frame of a stack: a call, or a jump whose frame was erased.
type Frame struct {
	At   machinecode.Ref
	Rule string // that found a jump
}

// RuleWindow is the rule of jumps that are among the sample's branches.
const RuleWindow = "window"

// Restore returns the frames of a context with the missing jumps. leaf is the instruction
// that ran. Each chain of jumps is complete or left out: where its beginning cannot be
// known, the jumps that the branches show are left out as well.
func Restore(code *machinecode.Set, by Inferrer, c *unwind.Context, leaf machinecode.Ref) []Frame {
	r := Restorer{code: code, by: by}
	return r.Restore(c, leaf)
}

// Restorer restores many contexts, and reuses their memory. Stacks that follow each other mostly begin with the same frames,
// which are restored once.
type Restorer struct {
	code *machinecode.Set
	by   Inferrer

	// Of the last context.
	stack []ref
	known []bool
	out   []Frame
	after []restored // each of its frames

	spare []ref
}

// restored is the state after a frame: the number of frames in the output, and whether nothing is missing after the last.
type restored struct {
	frames int
	whole  bool
}

// NewRestorer returns a Restorer that uses by. It is not safe for concurrent use.
func NewRestorer(code *machinecode.Set, by Inferrer) *Restorer {
	return &Restorer{code: code, by: by}
}

// Restore is the function Restore. The frames are valid until the next call.
func (t *Restorer) Restore(c *unwind.Context, leaf machinecode.Ref) []Frame {
	stack := append(append(t.spare[:0], c.Frames...), leaf)
	same := t.same(stack, c.Known)
	t.stack, t.spare = stack, t.stack
	state := restored{whole: true}
	if same > 0 {
		state = t.after[same-1]
	}
	t.out, t.after = t.out[:state.frames], t.after[:same]
	t.known = append(t.known[:0], c.Known...)
	whole := state.whole
	for i := same; i < len(c.Frames); i++ {
		whole = t.frame(c, i, whole)
		t.after = append(t.after, restored{len(t.out), whole})
	}
	return t.out
}

// same returns the number of first frames that are restored as those of the last stack were.
func (t *Restorer) same(stack []ref, known []bool) int {
	n := 0
	for n < min(len(stack), len(t.stack)) && stack[n] == t.stack[n] {
		n++
	}
	n = max(0, n-min(n, t.by.Sees()))
	if len(known) == 0 && len(t.known) == 0 {
		return n
	}
	for i := range n {
		if at(known, i) != at(t.known, i) {
			return i
		}
	}
	return n
}

// at returns an entry of a list, which has none where all are false.
func at(list []bool, i int) bool { return i < len(list) && list[i] }

// frame adds a frame, and what is missing after it. It reports whether nothing else is.
func (t *Restorer) frame(c *unwind.Context, i int, whole bool) bool {
	r := c.Frames[i]
	switch class := t.code.Class(r); {
	case class.IsCall():
	case class < controlflow.Jump || class > controlflow.Conditional:
		// A frame of which only the function is known, or one that the kernel interrupted.
		t.out = append(t.out, Frame{At: r})
		return true
	default:
		if whole {
			t.out = append(t.out, Frame{r, RuleWindow})
		}
		return whole
	}
	t.out = append(t.out, Frame{At: r})
	if c.Known != nil && c.Known[i] {
		return true
	}
	jumps, rule, known := t.by.Infer(t.stack, i)
	for _, j := range jumps {
		t.out = append(t.out, Frame{j, rule})
	}
	return known
}
