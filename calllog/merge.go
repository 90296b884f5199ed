package calllog

import (
	"container/heap"
	"errors"
	"iter"
	"slices"
)

// Item is an event and the thread it is of.
type Item struct {
	Thread int // index into the log's Threads
	Event
	// Data is the event's payload, nil if it has none. Its memory is used again.
	Data *Payload
}

// Events yields the events of one thread, one by one.
func Events(log Log, thread int) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for b, err := range log.Batches(thread, 0, log.Threads()[thread].Parts) {
			if err != nil {
				if !yield(Item{Thread: thread}, err) {
					return
				}
				continue
			}
			for i := range b.Events {
				it := Item{Thread: thread, Event: b.Events[i]}
				if p := it.Payload; p != 0 {
					it.Data = &b.Payloads[p-1]
				}
				if !yield(it, nil) {
					return
				}
			}
		}
	}
}

// ByTime yields the events of all threads in the order of their times; at equal
// times by thread. Within a thread the order is that of the thread, even where
// its clock goes back. It holds one batch of each thread.
func ByTime(log Log) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var h heads
		defer func() {
			for _, x := range h {
				x.stop()
			}
		}()
		// advance moves to the next event of a thread. It reports whether there
		// is one; damage on the way goes to yield, and stopped says that yield
		// wants no more.
		advance := func(x *head) (ok, stopped bool) {
			for {
				it, err, more := x.next()
				if !more {
					x.stop()
					return false, false
				}
				if err == nil {
					// Where a clock went back the thread keeps its place.
					x.key, x.item = max(x.key, it.Time), it
					return true, false
				}
				var damage *Damage
				if !yield(Item{Thread: it.Thread}, err) || !errors.As(err, &damage) {
					x.stop()
					return false, true
				}
			}
		}
		for t := range log.Threads() {
			x := &head{}
			x.next, x.stop = iter.Pull2(Events(log, t))
			ok, stopped := advance(x)
			if stopped {
				return
			}
			if ok {
				h = append(h, x)
			}
		}
		heap.Init(&h)
		for len(h) > 0 {
			x := h[0]
			if !yield(x.item, nil) {
				return
			}
			ok, stopped := advance(x)
			switch {
			case stopped:
				return
			case ok:
				heap.Fix(&h, 0)
			default:
				heap.Pop(&h)
			}
		}
	}
}

// A head is the next event of a thread that is being merged.
type head struct {
	key  uint64
	item Item
	next func() (Item, error, bool)
	stop func()
}

type heads []*head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if h[i].key != h[j].key {
		return h[i].key < h[j].key
	}
	return h[i].item.Thread < h[j].item.Thread
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = slices.Delete(*h, len(*h)-1, len(*h))
	return last
}
