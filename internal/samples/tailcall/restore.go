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

// Restorer restores many contexts, and reuses their memory.
type Restorer struct {
	code  *machinecode.Set
	by    Inferrer
	stack []ref
	out   []Frame
}

// NewRestorer returns a Restorer that uses by. It is not safe for concurrent use.
func NewRestorer(code *machinecode.Set, by Inferrer) *Restorer {
	return &Restorer{code: code, by: by}
}

// Restore is the function Restore. The frames are valid until the next call.
func (t *Restorer) Restore(c *unwind.Context, leaf machinecode.Ref) []Frame {
	stack := append(append(t.stack[:0], c.Frames...), leaf)
	out := t.out[:0]
	whole := true
	for i, r := range c.Frames {
		switch class := t.code.Class(r); {
		case class.IsCall():
		case class < controlflow.Jump || class > controlflow.Conditional:
			// A frame of which only the function is known, or one that the kernel interrupted.
			out, whole = append(out, Frame{At: r}), true
			continue
		default:
			if whole {
				out = append(out, Frame{r, RuleWindow})
			}
			continue
		}
		out = append(out, Frame{At: r})
		if whole = c.Known != nil && c.Known[i]; whole {
			continue
		}
		jumps, rule, known := t.by.Infer(stack, i)
		for _, j := range jumps {
			out = append(out, Frame{j, rule})
		}
		whole = known
	}
	t.stack, t.out = stack, out
	return out
}
