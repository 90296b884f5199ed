package callrecords

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// logSummary is the output of cairn dump --summary for a log.
type logSummary struct {
	File       string          `json:"file"`
	Format     string          `json:"format"`
	Size       int64           `json:"size"`
	HeaderHz   uint64          `json:"header_hz"`
	Hz         uint64          `json:"hz"`
	Epoch      bool            `json:"epoch"`
	Start      uint64          `json:"start"`
	Duplicates int             `json:"duplicates"`
	Damaged    int             `json:"damaged"`       // places
	Lost       int64           `json:"damaged_bytes"` // in them
	Kinds      []kindSummary   `json:"records"`
	Threads    []threadSummary `json:"threads"`
	Notes      []string        `json:"notes"`

	kinds   [xray.Padding + 1][calllog.Resume + 1]kindSummary // of calls by event
	threads map[[2]uint32]*threadSummary
	last    *threadSummary // of the record before
	more    []kindSummary  // of kinds that are not XRay's
	clock   calllog.Clock
}

// kindSummary counts records of a kind.
type kindSummary struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"`
	Bytes int64  `json:"bytes"`
}

// threadSummary counts the records of a thread.
type threadSummary struct {
	Process uint32 `json:"process"`
	Thread  uint32 `json:"thread"`
	Blocks  uint64 `json:"blocks"`
	Calls   uint64 `json:"calls"` // enters
	Events  uint64 `json:"events"`
	Bytes   int64  `json:"bytes"`
	First   uint64 `json:"first"` // times
	Last    uint64 `json:"last"`
}

func newLogSummary(log *dumpLog) *logSummary {
	info := log.Info()
	return &logSummary{
		File: info.File, Format: info.Format, Size: info.Size,
		HeaderHz: log.about.Hz, Hz: info.Clock.Hz, Epoch: info.Clock.Epoch, Start: info.Clock.Start,
		Duplicates: info.Duplicates, Notes: append([]string{}, info.Notes...),
		threads: make(map[[2]uint32]*threadSummary), clock: info.Clock,
	}
}

// add counts a record or a damaged place.
func (s *logSummary) add(r *xray.Record, damage *calllog.Damage) {
	if damage != nil {
		s.Damaged++
		s.Lost += damage.Size
		return
	}
	k := &s.kinds[r.Kind][r.Event]
	k.Count++
	k.Bytes += r.Size
	if r.TID == 0 && r.PID == 0 {
		return
	}
	t := s.last
	if t == nil || t.Process != r.PID || t.Thread != r.TID {
		t = s.thread(r)
	}
	t.Bytes += r.Size
	switch r.Kind {
	case xray.NewBuffer:
		t.Blocks++
		return
	case xray.Call:
		if r.Event.IsEnter() {
			t.Calls++
		}
	case xray.CustomData, xray.TypedData:
	default:
		return
	}
	if t.Events == 0 || r.Time < t.First {
		t.First = r.Time
	}
	t.Last = max(t.Last, r.Time)
	t.Events++
}

func (s *logSummary) thread(r *xray.Record) *threadSummary {
	key := [2]uint32{r.PID, r.TID}
	t := s.threads[key]
	if t == nil {
		t = &threadSummary{Process: r.PID, Thread: r.TID}
		s.threads[key] = t
	}
	s.last = t
	return t
}

// finish builds the lists.
func (s *logSummary) finish() {
	s.Kinds, s.Threads = append([]kindSummary{}, s.more...), []threadSummary{}
	for kind := range s.kinds {
		for event, k := range s.kinds[kind] {
			k.Kind = xray.RecordKind(kind).String()
			if xray.RecordKind(kind) == xray.Call {
				k.Kind = calllog.Kind(event).String()
			}
			if k.Count > 0 {
				s.Kinds = append(s.Kinds, k)
			}
		}
	}
	stablesort.Func(s.Kinds, func(a, b kindSummary) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	for _, t := range s.threads {
		s.Threads = append(s.Threads, *t)
	}
	stablesort.Func(s.Threads, func(a, b threadSummary) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Thread, b.Thread))
	})
}

func (s *logSummary) print(w io.Writer, style report.Style) error {
	fmt.Fprintf(w, "%s: %s, %s\n", s.File, s.Format, report.Plural(int(s.Size), "byte"))
	fmt.Fprintf(w, "clock: %s\n", s.clockText())
	fmt.Fprintf(w, "duplicate: %s\n", report.Count(s.Duplicates))
	fmt.Fprintf(w, "damaged: %s, %s\n", report.Plural(s.Damaged, "region"), report.Plural(int(s.Lost), "byte"))
	for _, text := range s.Notes {
		fmt.Fprintf(w, "note: %s\n", text)
	}
	kinds := report.NewTable("record", ">count", ">bytes")
	for _, k := range s.Kinds {
		kinds.Row(k.Kind, report.Count(k.Count), report.Count(uint64(k.Bytes)))
	}
	threads := report.NewTable(">process", ">thread", ">blocks", ">calls", ">events", ">bytes", ">first", ">lasts")
	for _, t := range s.Threads {
		unit := s.clock.Unit()
		at := s.clock.Nanoseconds(t.First - min(t.First, s.clock.Start))
		lasts := s.clock.Nanoseconds(t.Last - t.First)
		threads.Row(strconv.FormatUint(uint64(t.Process), 10), strconv.FormatUint(uint64(t.Thread), 10), report.Count(t.Blocks), report.Count(t.Calls),
			report.Count(t.Events), report.Count(uint64(t.Bytes)), report.Duration(at, unit), report.Duration(lasts, unit))
	}
	for _, table := range []*report.Table{kinds, threads} {
		if table.Len() > 0 {
			fmt.Fprintln(w)
		}
		if err := table.Write(w, style); err != nil {
			return err
		}
	}
	return nil
}

func (s *logSummary) clockText() string {
	text := fmt.Sprintf("%d ticks per second", s.Hz)
	switch {
	case s.Hz == 0:
		text = "the length of a tick is unknown"
	case s.Epoch:
		text = "nanoseconds since 1970"
	case s.Hz != s.HeaderHz:
		text += fmt.Sprintf(", estimated; the header has %d", s.HeaderHz)
	}
	return text + ", begins at " + strconv.FormatUint(s.Start, 10)
}
