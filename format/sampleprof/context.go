package sampleprof

import (
	"cmp"
	"slices"
)

// Frame is a function in a calling context.
type Frame struct {
	Func string // linkage name
	// Call is the place of the call to the next frame. It is not used in the last frame.
	Call Place
}

// Context is a function with the calls that led to it. One without callers combines all calls of the function.
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

// Name returns the context in text form, without brackets.
func (c *Context) Name() string { return string(c.appendName(nil)) }

// appendName appends the context to a text, without brackets.
func (c *Context) appendName(b []byte) []byte {
	for i, f := range c.Frames {
		b = append(b, f.Func...)
		if i < len(c.Frames)-1 {
			b = append(f.Call.append(append(b, ':')), " @ "...)
		}
	}
	return b
}
