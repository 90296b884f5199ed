package calltrie

// nodes is a growing array of nodes, in pages so that growing copies little and
// never needs twice the memory. The first page grows by doubling: most threads
// have few stacks.
type nodes struct {
	pages [][]Node
	n     int
}

const (
	pageBits = 9
	perPage  = 1 << pageBits
)

func (x *nodes) at(id NodeID) *Node { return &x.pages[id>>pageBits][id&(perPage-1)] }

// add makes a node and returns its number.
func (x *nodes) add() NodeID {
	id := NodeID(x.n)
	x.n++
	last := len(x.pages) - 1
	switch {
	case len(x.pages[last]) < cap(x.pages[last]):
		x.pages[last] = x.pages[last][:len(x.pages[last])+1]
	case len(x.pages[last]) == perPage:
		x.pages = append(x.pages, make([]Node, 1, perPage))
	default:
		grown := make([]Node, len(x.pages[last])+1, min(perPage, max(8, 2*len(x.pages[last]))))
		copy(grown, x.pages[last])
		x.pages[last] = grown
	}
	return id
}
