package spikelist

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/internal/watch/attach"
)

// PrintThreads prints where each thread was when cairn attached to the program, and since when. Threads of one stack
// are one entry.
func (f *Choice) PrintThreads(s *verb.Streams, pid int, r *attach.Result) error {
	names, err := spikeset.NewNames(s, f.Names(), f.Debug, !f.NoInlined)
	if err != nil {
		return err
	}
	defer names.Close()
	name := func(pc uint64, call bool) spikes.Location {
		for i := range r.Modules {
			if m := &r.Modules[i]; pc >= m.Start && pc < m.End {
				n := names.Module(&tracelog.Module{Path: m.Path, BuildID: []byte(m.BuildID)}, "")
				return names.Name(spikes.Address{Module: n, Offset: pc - m.Bias}, call)
			}
		}
		return names.Name(spikes.Address{Module: -1, Offset: pc}, call)
	}
	if f.Json {
		return encodeThreads(f.objects(s), pid, r, name)
	}
	writeThreads(s.Out, r, name)
	return nil
}

// attachedObject is a line of JSON for a thread, as it was when cairn attached.
type attachedObject struct {
	Version int          `json:"version"`
	PID     int          `json:"pid"`
	At      threadObject `json:"at_attach"`
}

// threadObject describes a thread. Durations are nanoseconds.
type threadObject struct {
	TID     int           `json:"tid"`
	Thread  string        `json:"thread"`
	State   string        `json:"state"`                 // runs, waits or stopped
	Call    string        `json:"system_call,omitempty"` // that it was in
	Kernel  string        `json:"kernel,omitempty"`      // function of the kernel in which it waited
	Still   int64         `json:"still_ns,omitempty"`    // since it last ran; absent if that is not known
	AtLeast bool          `json:"at_least,omitempty"`    // still_ns is a lower bound
	Whole   bool          `json:"stack_whole"`
	Stack   []spikes.Site `json:"stack"` // outermost first
}

func encodeThreads(enc *report.Objects, pid int, r *attach.Result, name func(pc uint64, call bool) spikes.Location) error {
	for i := range r.Threads {
		t := &r.Threads[i]
		x := threadObject{TID: t.TID, Thread: t.Name, State: "waits", Kernel: t.Kernel, Still: int64(t.Still), AtLeast: t.AtLeast, Whole: t.Whole, Stack: []spikes.Site{}}
		switch t.State {
		case 'R':
			x.State, x.Kernel = "runs", ""
		case 'T', 't':
			x.State = "stopped"
		}
		if x.State == "waits" && t.Call >= 0 {
			x.Call = tracelog.CallsX86_64.Name(t.Call)
		}
		for k := len(t.Stack) - 1; k >= 0; k-- {
			loc := name(t.Stack[k], k > 0)
			for _, p := range loc.Places {
				x.Stack = append(x.Stack, spikes.Site{Function: p.Function, File: p.File, Line: p.Line, Module: loc.Module, Offset: t.Stack[k]})
			}
		}
		if err := enc.Encode(attachedObject{1, pid, x}); err != nil {
			return err
		}
	}
	return nil
}

func writeThreads(w io.Writer, r *attach.Result, name func(pc uint64, call bool) spikes.Location) {
	type group struct {
		first *attach.Thread
		more  []string
		lines string
	}
	var groups []*group
	known := map[string]*group{}
	for i := range r.Threads {
		t := &r.Threads[i]
		lines := stackText(t, name)
		key := fmt.Sprintf("%c %d %s\n%s", t.State, t.Call, t.Kernel, lines)
		if g := known[key]; g != nil {
			g.more = append(g.more, fmt.Sprint(t.TID))
			continue
		}
		known[key] = &group{first: t, lines: lines}
		groups = append(groups, known[key])
	}
	for _, g := range groups {
		more := ""
		if n := len(g.more); n > 0 {
			more = fmt.Sprintf(", and so %s: %s", report.Plural(n, "other thread"), strings.Join(g.more, ", "))
		}
		fmt.Fprintf(w, "thread %d %s %s%s\n%s", g.first.TID, report.Printable(g.first.Name), doing(g.first), more, g.lines)
	}
}

// doing describes what a thread did.
func doing(t *attach.Thread) string {
	switch t.State {
	case 'R':
		return "runs"
	case 'T', 't':
		return "is stopped" + lasted(t)
	}
	where := "waits"
	if t.Call >= 0 {
		where = "is in " + tracelog.CallsX86_64.Name(t.Call)
	}
	if t.Kernel != "" {
		where += " (" + t.Kernel + ")"
	}
	return where + lasted(t)
}

func lasted(t *attach.Thread) string {
	switch {
	case t.Still == 0:
		return ", since when is not known"
	case t.AtLeast:
		return fmt.Sprintf(", for %s at least", spikes.Duration(uint64(t.Still)))
	case t.Still < time.Millisecond:
		return ", for less than 1 ms"
	}
	return " for " + spikes.Duration(uint64(t.Still))
}

// stackText formats a stack, the outermost call first.
func stackText(t *attach.Thread, name func(pc uint64, call bool) spikes.Location) string {
	var b strings.Builder
	if len(t.Stack) == 0 {
		b.WriteString("  its stack is not known\n")
	} else if !t.Whole {
		b.WriteString("  (outer callers are unknown)\n")
	}
	n := 0
	for i := len(t.Stack) - 1; i >= 0; i-- {
		loc := name(t.Stack[i], i > 0)
		for _, p := range loc.Places {
			at := loc.Module
			if p.File != "" {
				at = fmt.Sprintf("%s:%d", p.File, p.Line)
			}
			fmt.Fprintf(&b, "  %d) %-24s %s\n", n, cmp.Or(p.Function, "?"), at)
			n++
		}
	}
	return b.String()
}
