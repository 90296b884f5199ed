package stackdiff

import (
	"slices"
)

// Stack returns the functions of node i from the outermost, as indexes into
// Names.
func (r *Result) Stack(i int) []int {
	var stack []int
	for ; i >= 0; i = r.Nodes[i].Parent {
		stack = append(stack, r.Nodes[i].Func)
	}
	slices.Reverse(stack)
	return stack
}
