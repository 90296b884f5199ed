package sampleprof

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Frame is a function in a calling context.
type Frame struct {
	Func string // linkage name
	// Call is the place of the call to the next frame. Of the last frame it is
	// not used.
	Call Place
}

// Context is a function with the calls that led to it. One without callers is what
// is known of the function whatever called it.
type Context struct {
	Frames  []Frame // outermost first, the function itself last
	Samples *Samples
}

// Compare orders contexts by their frames.
func (c *Context) Compare(d *Context) int {
	return slices.CompareFunc(c.Frames, d.Frames, func(a, b Frame) int {
		return cmp.Or(cmp.Compare(a.Func, b.Func), a.Call.compare(b.Call))
	})
}

// WriteContexts writes a profile with contexts as text, the context with the
// greatest total first. It changes the order of the slice.
func WriteContexts(w io.Writer, contexts []Context) error {
	totals := make(map[*Samples]uint64, len(contexts))
	for i := range contexts {
		totals[contexts[i].Samples] = contexts[i].Samples.Total()
	}
	slices.SortFunc(contexts, func(a, b Context) int {
		return cmp.Or(cmp.Compare(totals[b.Samples], totals[a.Samples]), a.Compare(&b))
	})
	b := bufio.NewWriter(w)
	for i := range contexts {
		c := &contexts[i]
		fmt.Fprintf(b, "[%s]:%d:%d\n", c.name(), totals[c.Samples], c.Samples.Head)
		c.Samples.write(b, 1)
	}
	return b.Flush()
}

// name returns the context as the text has it, without brackets.
func (c *Context) name() string {
	var b strings.Builder
	for i, f := range c.Frames {
		b.WriteString(f.Func)
		if i < len(c.Frames)-1 {
			b.WriteString(":" + f.Call.String() + " @ ")
		}
	}
	return b.String()
}
