package calldb

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"unicode/utf8"

	"modernc.org/sqlite/vtab"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
)

// The columns of events, as live.sql has them.
const (
	eventLog = iota
	eventThread
	eventTime
	eventKind
	eventType
	eventData
	eventCall
	eventCPU
)

// eventRow is an event that a program logged.
type eventRow struct {
	thread *thread
	at     uint64
	kind   calllog.Kind
	typ    uint16
	data   []byte
	call   uint64 // the innermost one
	cpu    uint16
	number int64
}

func (l *live) eventsTable() *virtual[eventRow] {
	return &virtual[eventRow]{
		live: l, schema: declared("events"), name: -1,
		numbers: []int{eventLog, eventThread, eventTime, eventCall},
		cost:    l.eventsCost, scan: l.scanEvents, number: eventNumber, value: eventValue,
		rowid: func(r *eventRow) int64 { return r.number },
	}
}

// eventsCost estimates a scan: the calls of the threads that have events are replayed.
func (l *live) eventsCost(info *vtab.IndexInfo, p *plan) {
	look, rows := 1.0, 1.0
	for i := range l.x.threads {
		s := &l.x.threads[i].Stats
		if n := s.CustomEvents + s.TypedEvents; n > 0 {
			look += 2 * float64(s.Enters)
			rows += float64(n)
		}
	}
	if p.equal[eventThread] || p.equal[eventCall] {
		look, rows = look/float64(len(l.x.threads)), rows/float64(len(l.x.threads))
	}
	if p.below[eventTime] || p.equal[eventTime] {
		look, rows = look/2, rows/4
	}
	if p.equal[eventCall] {
		rows = 1
	}
	info.EstimatedCost = 1000 + look + 4*rows
	info.EstimatedRows = int64(max(1, rows))
}

func (l *live) scanEvents(w *want, row func(*eventRow) bool) error {
	number := int64(0)
	for i := range l.x.threads {
		th := &l.x.threads[i]
		n := th.Stats.CustomEvents + th.Stats.TypedEvents
		first := number
		number += integer(n)
		if err := l.hasCalls(th); err != nil {
			return err
		}
		if n == 0 || !th.mayHaveEvents(w) {
			continue
		}
		if more, err := l.eventsOf(th, first, w, row); err != nil || !more {
			return err
		}
	}
	return nil
}

func (t *thread) mayHaveEvents(w *want) bool {
	log := int64(t.log + 1)
	if lo, hi := w.of(eventLog); log < lo || log > hi {
		return false
	}
	if lo, hi := w.of(eventThread); t.id < lo || t.id > hi {
		return false
	}
	if lo, hi := w.of(eventCall); hi < 0 || lo > 0 && (t.number+integer(t.Stats.Enters) < lo || t.number >= hi) {
		return false
	}
	lo, hi := w.of(eventTime)
	return t.since(t.Last) >= lo && t.since(t.First) <= hi
}

// eventsOf yields the events of a thread, numbered from one. It reports whether to continue.
func (l *live) eventsOf(th *thread, number int64, w *want, row func(*eventRow) bool) (bool, error) {
	_, last := w.of(eventTime)
	r := eventRow{thread: th, number: number}
	var open []uint64 // calls
	for s, err := range account.NewReplay(l.data.Sources[th.log].Log, th.index, l.opt).Steps(l.ctx) {
		if err != nil {
			if damage := (*calllog.Damage)(nil); errors.As(err, &damage) {
				continue
			}
			return false, err
		}
		switch {
		case th.since(s.At) > last: // steps never go back in time
			return true, nil
		case s.What == account.Begins:
			open = append(open, s.Call.ID)
		case s.What == account.Ends && len(open) > 0:
			open = open[:len(open)-1]
		case s.What == account.Happened:
			r.number++
			r.set(s, open)
			if !row(&r) {
				return false, nil
			}
		}
	}
	return true, nil
}

func (r *eventRow) set(s *account.Step, open []uint64) {
	r.at, r.kind, r.cpu, r.call = s.At, s.Kind, s.Call.CPU, 0
	r.data, r.typ = nil, 0
	if len(open) > 0 {
		r.call = open[len(open)-1]
	}
	if s.Payload != nil {
		r.data, r.typ = bytes.Clone(s.Payload.Data), s.Payload.Type
	}
}

func eventNumber(r *eventRow, column int) int64 {
	switch column {
	case eventLog:
		return int64(r.thread.log + 1)
	case eventThread:
		return r.thread.id
	case eventTime:
		return r.thread.since(r.at)
	case eventCall:
		return r.thread.call(r.call)
	}
	return int64(r.cpu)
}

func eventValue(r *eventRow, column int) driver.Value {
	switch column {
	case eventKind:
		if r.kind == calllog.Typed {
			return "typed"
		}
		return "custom"
	case eventType:
		if r.kind != calllog.Typed {
			return nil
		}
		return int64(r.typ)
	case eventData:
		if utf8.Valid(r.data) && bytes.IndexByte(r.data, 0) < 0 {
			return string(r.data)
		}
		return r.data
	}
	return eventNumber(r, column)
}
