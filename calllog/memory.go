package calllog

import "iter"

// Memory is a log in memory: what tests and other sources make.
type Memory struct {
	About   Info
	List    []Thread // Parts and Bytes are set by Threads
	Content [][]Part // by thread
}

// Part is a piece of a thread's events.
type Part struct {
	Events   []Event
	Payloads []Payload
	Break    bool
}

// Info implements Log.
func (m *Memory) Info() *Info { return &m.About }

// Threads implements Log.
func (m *Memory) Threads() []Thread {
	list := make([]Thread, len(m.List))
	for i, t := range m.List {
		t.Parts, t.Bytes = len(m.Content[i]), 0
		for _, p := range m.Content[i] {
			t.Bytes += int64(len(p.Events)) * 8
		}
		list[i] = t
	}
	return list
}

// Batches implements Log.
func (m *Memory) Batches(thread, from, to int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for _, p := range m.Content[thread][from:to] {
			if !yield(&Batch{Events: p.Events, Payloads: p.Payloads, Break: p.Break}, nil) {
				return
			}
		}
	}
}
