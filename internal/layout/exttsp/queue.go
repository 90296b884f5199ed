package exttsp

import "container/heap"

// queued is a link that waits to be joined, as it was rated.
type queued struct {
	link  *link
	since int // the last join before that
	gain  float64
}

func (s *solver) push(q queued) { heap.Push((*queue)(&s.queue), q) }
func (s *solver) pop() queued   { return heap.Pop((*queue)(&s.queue)).(queued) }

// queue is a heap of links, those of the highest gain first; of equals, those of the first blocks.
type queue []queued

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q queue) Less(i, j int) bool {
	x, y := &q[i], &q[j]
	switch {
	case x.gain != y.gain:
		return x.gain > y.gain
	case x.link.a != y.link.a:
		return x.link.a < y.link.a
	}
	return x.link.b < y.link.b
}
func (q *queue) Push(x any) { *q = append(*q, x.(queued)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
