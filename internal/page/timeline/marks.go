package timeline

import (
	"slices"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/spikes"
)

// Marks are the data of a time line other than calls.
type Marks struct {
	Frames []Frames `json:"frames"`
	Spikes []Spike  `json:"spikes"`
	Left   int      `json:"spikes_left"` // spikes that are not in Spikes, as there are too many
}

// End is the end of the last of them.
func (m *Marks) End() uint64 {
	end := uint64(0)
	for i := range m.Spikes {
		end = max(end, m.Spikes[i].End)
	}
	for i := range m.Frames {
		end = max(end, m.Frames[i].End)
	}
	return end
}

// Frames is a strip of the frames of a process.
type Frames struct {
	Log     string   `json:"log"`
	PID     uint32   `json:"pid"`
	Count   uint64   `json:"count"`
	Mean    uint64   `json:"mean"`
	Worst   uint64   `json:"worst"`
	Budget  uint64   `json:"budget"`
	Over    uint64   `json:"over"`
	End     uint64   `json:"end"`   // when the last one ended, on the time line
	Each    uint64   `json:"each"`  // number of frames per bar
	Bars    []uint64 `json:"bars"`  // the longest of each
	Late    []uint32 `json:"late"`  // how many of each were over the budget
	Longest []Frame  `json:"frame"` // the longest first
}

// Frame is a long frame.
type Frame struct {
	Number uint64   `json:"number"`
	Start  uint64   `json:"start"`
	End    uint64   `json:"end"`
	Spikes []uint64 `json:"spikes"` // numbers of spikes in it
	Blame  []Blame  `json:"blame"`
}

// Blame is a function with the part of its time that no call below explains.
type Blame struct {
	Function string `json:"function"`
	Time     uint64 `json:"time"`
	Calls    uint64 `json:"calls,omitempty"`
}

// Spike is a spike on the time line.
type Spike struct {
	Start uint64 `json:"start"` // the earliest that it may have begun
	End   uint64 `json:"end"`
	*spikes.Object
	Blame []Blame `json:"blame"`
}

// NewFrames returns the strip of a log, in times of its clock.
func NewFrames(l *spikes.Log, in map[uint64]*spikes.InFrame, name spikes.Namer) Frames {
	f := l.Frames
	out := Frames{
		Log: l.Name, PID: l.Header.PID, Count: f.Count, Mean: f.Sum / max(1, f.Count), Worst: f.Worst, Budget: f.Budget, Over: f.Over,
		End: f.End, Each: f.Each, Bars: []uint64{}, Late: []uint32{}, Longest: []Frame{},
	}
	for _, b := range f.Buckets {
		out.Bars, out.Late = append(out.Bars, b.Worst), append(out.Late, b.Over)
	}
	for _, x := range f.Longest {
		out.Longest = append(out.Longest, newFrame(&x, in[x.Number], name))
	}
	return out
}

func newFrame(x *tracelog.Frame, in *spikes.InFrame, name spikes.Namer) Frame {
	f := Frame{Number: x.Number, Start: x.End - min(x.End, x.Took), End: x.End, Spikes: []uint64{}, Blame: []Blame{}}
	if in == nil {
		return f
	}
	f.Spikes = append(f.Spikes, in.Spikes...)
	for i := range in.Eaters {
		e := &in.Eaters[i]
		f.Blame = append(f.Blame, Blame{e.Name(name).Function, e.Time, e.Calls})
	}
	return f
}

// On returns the strip on a time line that begins at origin.
func (f Frames) On(origin uint64) Frames {
	at := func(t uint64) uint64 { return t - min(t, origin) }
	f.End = at(f.End)
	f.Longest = slices.Clone(f.Longest)
	for i := range f.Longest {
		x := &f.Longest[i]
		x.Start, x.End = at(x.Start), at(x.End)
	}
	return f
}

// NewSpike returns a spike, whose time in its log began at began on the clock that origin is
// of, too.
func NewSpike(o *spikes.Object, began, origin uint64) Spike {
	end := began + o.At
	end -= min(end, origin)
	s := Spike{Start: end - min(end, o.Interval[1]), End: end, Object: o, Blame: []Blame{}}
	own := o.Interval[0]
	for _, c := range o.Children {
		s.Blame = append(s.Blame, Blame{c.Function, c.Interval[0], c.Calls})
		if o.Caller != nil {
			own -= min(own, c.Interval[0])
		}
	}
	if len(o.Children) > 0 && o.Caller == nil { // each is within the one before
		own -= min(own, o.Children[0].Interval[0])
	}
	s.Blame = append([]Blame{{Function: o.Peak.Function, Time: own}}, s.Blame...)
	return s
}
