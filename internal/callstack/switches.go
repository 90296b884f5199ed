package callstack

import "slices"

// Switches are the stacks of a thread that changes between several, as coroutines do. A log has an event before
// and after a call that changes the stack, both with a key, the stack pointer, under which the stack that was
// left is kept. An event directly after that before the change begins another stack.
//
// setcontext leaves a stack without a place where it goes on: the key 0 stands for that. It goes on where
// getcontext or swapcontext was called on that stack, so some of those places are kept of each.
//
// The zero value is not valid; see NewSwitches.
type Switches[S Keyed] struct {
	Running   S
	Suspended bool // Running was left, and no event followed
	at        map[uint32]S
}

// Keyed is a stack, a pointer to what embeds Keys.
type Keyed interface {
	comparable
	keys() *Keys
}

// Keys are where a stack was left, the last at the end.
type Keys struct{ list []uint32 }

func (k *Keys) keys() *Keys { return k }

// Any reports whether there is a place where the stack can go on.
func (k *Keys) Any() bool { return len(k.list) > 0 }

// add puts a key at the end, and returns the first one if there are too many.
func (k *Keys) add(key uint32) (first uint32, is bool) {
	if i := slices.Index(k.list, key); i >= 0 {
		k.list = slices.Delete(k.list, i, i+1)
	}
	if is = len(k.list) == maxKeys; is {
		first, k.list = k.list[0], k.list[1:]
	}
	k.list = append(k.list, key)
	return first, is
}

// maxKeys is the maximum number of places that are kept of a stack.
const maxKeys = 4

// NewSwitches returns the stacks of a thread that had one so far.
func NewSwitches[S Keyed](running S) *Switches[S] {
	return &Switches[S]{Running: running, at: make(map[uint32]S)}
}

// Len returns how many places are kept of all stacks.
func (w *Switches[S]) Len() int { return len(w.at) }

// Suspend handles the event before a change. If another stack was kept under that key, it will not run again:
// its memory is that of the running one now, or it has no place where it goes on.
func (w *Switches[S]) Suspend(key uint32) (gone S, is bool) {
	k := w.Running.keys()
	w.Suspended = true
	if key == 0 && k.Any() {
		return gone, false // it goes on where it was before
	}
	if other, ok := w.at[key]; ok && other != w.Running {
		gone, is = other, true
	}
	if first, is := k.add(key); is {
		w.drop(first, w.Running)
	}
	w.at[key] = w.Running
	return gone, is
}

// Change is what the event after a change means.
type Change uint8

// The meanings of an event after a change.
const (
	Stays Change = iota // the stack that runs is that before
	Other               // it is one that is not known
	Back                // it is one that was left
	Left                // so it is, and that before was left for good
)

// Resume returns what the event after a change means. The stack that runs changes with To.
func (w *Switches[S]) Resume(key uint32) (next S, means Change) {
	next, ok := w.at[key]
	switch {
	case !ok && !w.Suspended, ok && next == w.Running, key == 0:
		w.Suspended = false
		return next, Stays
	case !ok:
		return next, Other
	case !w.Suspended:
		return next, Left
	}
	return next, Back
}

// To makes s the stack that runs.
func (w *Switches[S]) To(s S) { w.Running, w.Suspended = s, false }

// Forget forgets where s was left.
func (w *Switches[S]) Forget(s S) {
	k := s.keys()
	for _, key := range k.list {
		w.drop(key, s)
	}
	k.list = nil
}

func (w *Switches[S]) drop(key uint32, s S) {
	if w.at[key] == s {
		delete(w.at, key)
	}
}

// Clear forgets where all stacks were left.
func (w *Switches[S]) Clear() { clear(w.at) }
