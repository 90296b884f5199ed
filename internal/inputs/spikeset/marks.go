package spikeset

import (
	"cmp"
	"iter"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/page/timeline"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// maxMarks is how many spikes a time line has: the longest.
const maxMarks = 3000

// Marks are the spikes and the frames of logs, for a time line.
type Marks struct {
	Headers []tracelog.Header   // by log
	Names   []string            // of the logs
	Threads []map[uint32]string // names by id, of each log: of all threads that have spikes
	Left    int                 // spikes that there were too many of

	spikes []marked
	frames []timeline.Frames // on the clock of their log
	of     []int             // their logs
}

// marked is a spike of a log.
type marked struct {
	log    int
	object *spikes.Object
}

// ReadMarks reads the spikes and frames of logs. Functions are named by the binaries, or by
// the names in the logs.
func ReadMarks(s *verb.Streams, names *report.Names, logs, binaries []string) (*Marks, error) {
	t := &Set{Streams: s}
	defer t.Close()
	if err := t.Read(names, logs, binaries); err != nil {
		return nil, err
	}
	m := &Marks{}
	var kept []episode
	for i, log := range t.Logs {
		m.Headers, m.Names = append(m.Headers, log.Header), append(m.Names, log.Name)
		threads := make(map[uint32]string)
		for e, err := range log.Episodes() {
			if err != nil {
				break // reported when the set was filled
			}
			threads[e.TID] = t.Spikes.Logs[i].Threads[e.TID]
			if kept = append(kept, episode{i, e}); len(kept) >= 2*maxMarks {
				m.Left += len(kept) - maxMarks
				kept = longest(kept)
			}
		}
		m.Threads = append(m.Threads, threads)
	}
	if len(kept) > maxMarks {
		m.Left += len(kept) - maxMarks
		kept = longest(kept)
	}
	m.objects(t, kept)
	in := t.Spikes.Frames(t.Names.Name)
	for i := range t.Spikes.Logs {
		if l := &t.Spikes.Logs[i]; l.Frames != nil && l.Frames.Count > 0 {
			m.frames, m.of = append(m.frames, timeline.NewFrames(l, in[i], t.Names.Name)), append(m.of, i)
		}
	}
	return m, nil
}

// episode is an episode of a log.
type episode struct {
	log int
	*tracelog.Episode
}

func longest(list []episode) []episode {
	stablesort.Func(list, func(a, b episode) int { return cmp.Compare(b.Peak.Lo, a.Peak.Lo) })
	return list[:maxMarks]
}

// objects converts episodes to the objects of a page, in order of time.
func (m *Marks) objects(t *Set, kept []episode) {
	for _, e := range kept {
		sp := t.Spikes.Spike(e.log, e.Episode)
		g := t.Spikes.GroupOf(e.log, e.Episode)
		if g == nil {
			g = spikes.Alone(sp)
		}
		m.spikes = append(m.spikes, marked{e.log, t.Writer.Object(g, sp)})
	}
	for _, g := range t.Spikes.Callers {
		if g.Worst != nil && len(m.spikes) < 2*maxMarks {
			m.spikes = append(m.spikes, marked{g.Worst.Log, t.Writer.Object(g, g.Worst)})
		}
	}
}

// On returns the marks on a time line on which each log's zero is at an origin, in nanoseconds
// of CLOCK_MONOTONIC.
func (m *Marks) On(origins []uint64) *timeline.Marks {
	out := &timeline.Marks{Frames: []timeline.Frames{}, Spikes: []timeline.Spike{}, Left: m.Left}
	for _, x := range m.spikes {
		out.Spikes = append(out.Spikes, timeline.NewSpike(x.object, m.Headers[x.log].Monotonic, origins[x.log]))
	}
	stablesort.Func(out.Spikes, func(a, b timeline.Spike) int { return cmp.Compare(a.End, b.End) })
	for i := range m.frames {
		out.Frames = append(out.Frames, m.frames[i].On(origins[m.of[i]]))
	}
	return out
}

// Lanes returns a log without calls that has the threads of log i with spikes, or all threads
// of of, and these threads.
func (m *Marks) Lanes(i int, of calllog.Log) calllog.Log {
	h := m.Headers[i]
	l := &lanes{Log: of, info: calllog.Info{File: m.Names[i], Clock: calllog.Clock{Hz: 1e9, Start: h.Monotonic, Mono: true, Boot: h.Boot()}}}
	has := make(map[uint32]bool)
	if of != nil {
		l.info = *of.Info()
		l.info.Clock.Start = h.Monotonic
		for k, th := range of.Threads() {
			l.threads, l.from = append(l.threads, th), append(l.from, k)
			has[th.TID] = true
		}
	}
	for tid := range m.Threads[i] {
		if !has[tid] {
			l.threads, l.from = append(l.threads, calllog.Thread{PID: h.PID, TID: tid}), append(l.from, -1)
		}
	}
	l.sort()
	return l
}

// Name is the name of a thread of log i.
func (m *Marks) Name(i int, tid uint32) string {
	if name := m.Threads[i][tid]; name != "" {
		return report.Printable(name)
	}
	return ""
}

// lanes is a log with threads that have no calls.
type lanes struct {
	calllog.Log // may be nil
	info        calllog.Info
	threads     []calllog.Thread
	from        []int // their indexes in Log, -1 for none
}

// sort puts the threads in order: ascending by process, by id, then as they were.
func (l *lanes) sort() {
	order := make([]int, len(l.threads))
	for i := range order {
		order[i] = i
	}
	stablesort.Func(order, func(a, b int) int {
		x, y := l.threads[a], l.threads[b]
		return cmp.Or(cmp.Compare(x.PID, y.PID), cmp.Compare(x.TID, y.TID))
	})
	threads, from := l.threads, l.from
	l.threads, l.from = nil, nil
	for _, i := range order {
		l.threads, l.from = append(l.threads, threads[i]), append(l.from, from[i])
	}
}

// Info implements calllog.Log.
func (l *lanes) Info() *calllog.Info { return &l.info }

// Threads implements calllog.Log.
func (l *lanes) Threads() []calllog.Thread { return slices.Clone(l.threads) }

// Batches implements calllog.Log.
func (l *lanes) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	if l.from[thread] < 0 {
		return func(func(*calllog.Batch, error) bool) {}
	}
	return l.Log.Batches(l.from[thread], from, to)
}
