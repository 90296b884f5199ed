package calllist

import (
	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/report"
)

// replayLogJSON is ahead of the calls of a log.
type replayLogJSON struct {
	Version int    `json:"version"`
	Log     string `json:"log"`
	Unit    string `json:"unit"` // of times, ns or ticks
}

// replayJSON is a step of a thread.
type replayJSON struct {
	What      string   `json:"what"` // call (without callees, until it returned), begin, end or event
	Time      uint64   `json:"time"` // since the log began
	PID       uint32   `json:"pid"`
	Thread    uint32   `json:"thread"`
	Depth     int      `json:"depth"` // 1 for the outermost call, 0 for an event outside of calls
	Name      string   `json:"name,omitempty"`
	Demangled string   `json:"demangled,omitempty"`
	Args      []uint64 `json:"args,omitempty"`
	Duration  *uint64  `json:"duration,omitempty"` // of a call that ended
	End       string   `json:"end,omitempty"`      // deduced or open, if the end is not in the log
	Event     string   `json:"event,omitempty"`    // custom or typed
	Type      uint16   `json:"type,omitempty"`
	Data      []byte   `json:"data,omitempty"` // in base64
}

// jsonReplay writes the steps of a log as JSON objects.
type jsonReplay struct {
	enc     *report.Objects
	set     *logset.Set
	start   uint64
	threads []calllog.Thread
	state   []replayThread
}

func newJSONReplay(w *report.Objects, set *logset.Set, log calllog.Log) (*jsonReplay, error) {
	c := log.Info().Clock
	p := &jsonReplay{enc: w, set: set, start: c.Nanoseconds(c.Start), threads: log.Threads()}
	p.state = make([]replayThread, len(p.threads))
	return p, p.enc.Encode(replayLogJSON{1, log.Info().File, set.Clock.Unit()})
}

// print writes a step.
func (p *jsonReplay) print(s *account.ThreadStep) error {
	th, at := &p.state[s.Thread], &p.threads[s.Thread]
	line := replayJSON{Time: s.At - min(s.At, p.start), PID: at.PID, Thread: at.TID, Depth: s.Call.Depth}
	switch s.What {
	case account.Begins:
		th.depth, th.leaf = s.Call.Depth, s.Leaf != nil
		line.What, line.Args = "begin", s.Call.Args
		if th.leaf {
			line.What = "call"
			line.ended(&s.Leaf.Call)
		}
	case account.Ends:
		th.depth = s.Call.Depth - 1
		if th.leaf {
			th.leaf = false
			return nil
		}
		line.What = "end"
		line.ended(&s.Call)
	case account.Happened:
		line.What, line.Depth, line.Event = "event", th.depth, s.Kind.String()
		if s.Payload != nil {
			line.Type, line.Data = s.Payload.Type, s.Payload.Data
		}
		return p.enc.Encode(&line)
	}
	line.Name, line.Demangled = p.set.Symbol(s.Call.Func), p.set.Name(s.Call.Func)
	return p.enc.Encode(&line)
}

// ended adds the end of a call.
func (l *replayJSON) ended(c *account.Call) {
	l.Duration = &c.Duration
	if c.End == account.Deduced || c.End == account.Open {
		l.End = c.End.String()
	}
}
