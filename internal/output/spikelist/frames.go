package spikelist

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// writeFrames lists the longest frames of each process.
func (f *Choice) writeFrames(t *spikeset.Set, style report.Style) error {
	inFrames := t.Spikes.Frames(t.Names.Name)
	b := bufio.NewWriter(t.Streams.Out)
	var list []framesJSON
	for i := range t.Spikes.Logs {
		l := &t.Spikes.Logs[i]
		switch {
		case l.Frames == nil:
			continue
		case f.Json:
			list = append(list, newFramesJSON(t, l, inFrames[i]))
		default:
			if err := f.writeFramesOf(b, t, l, inFrames[i], style); err != nil {
				return err
			}
		}
		if l.Trailer != nil && l.Trailer.Dropped > 0 {
			verb.Note(t.Streams, "%s: %s lost, possibly with frames", l.Name, report.Plural(int(l.Trailer.Dropped), "record"))
		}
	}
	if f.Json {
		return report.WriteJSON(t.Streams.Out, struct {
			Processes []framesJSON `json:"processes"`
		}{list})
	}
	if b.Buffered() == 0 {
		return errors.New("no log has frames: programs mark the end of a frame by CAIRN_FRAME() or mark.Frame()")
	}
	return b.Flush()
}

func (f *Choice) writeFramesOf(b *bufio.Writer, t *spikeset.Set, l *spikes.Log, in map[uint64]*spikes.InFrame, style report.Style) error {
	if len(t.Spikes.Logs) > 1 {
		fmt.Fprintf(b, "process %d: ", l.Header.PID)
	}
	fmt.Fprintln(b, spikes.FramesText(l.Frames))
	width := 64
	if style.Width > 0 {
		width = min(width, style.Width-2)
	}
	bars, over, each := spikes.Sparkline(l.Frames, width)
	b.WriteString("  ")
	for i, bar := range []rune(bars) {
		color := report.Plain
		if over[i] {
			color = report.Hot
		}
		b.WriteString(style.Paint(color, string(bar)))
	}
	fmt.Fprintf(b, "\n  each bar is %s; the highest is %s\n\n", report.Plural(int(each), "frame"), spikes.Duration(l.Frames.Worst))
	table := report.NewTable(">frame", ">took", ">ended at", "~time in")
	longest := l.Frames.Longest
	if f.Top > 0 {
		longest = longest[:min(f.Top, len(longest))]
	}
	for _, x := range longest {
		color := report.Plain
		if x.Took > l.Frames.Budget {
			color = report.Hot
		}
		table.Add(report.Text(strconv.FormatUint(x.Number, 10)), report.Cell{Text: spikes.Duration(x.Took), Color: color},
			report.Text(report.Decimal(float64(x.End-min(x.End, l.Header.Monotonic))/1e9)+" s"), report.Text(eaters(t, in[x.Number])))
	}
	if err := table.Write(b, style); err != nil {
		return err
	}
	b.WriteByte('\n')
	return nil
}

// eaters returns the names of the functions that took a frame's time.
func eaters(t *spikeset.Set, in *spikes.InFrame) string {
	const most = 6
	var names []string
	for i := range in.Eaters[:min(most, len(in.Eaters))] {
		e := &in.Eaters[i]
		text := spikes.ChainText(e.Chain(t.Names.Name)) + " " + spikes.Duration(e.Time)
		if e.Calls > 1 {
			text += " in " + report.Count(e.Calls) + " calls"
		}
		names = append(names, text)
	}
	return strings.Join(names, ", ")
}

// framesJSON is the frames of a process. Durations are nanoseconds.
type framesJSON struct {
	PID     uint32          `json:"pid"`
	Log     string          `json:"log"`
	Frames  uint64          `json:"frames"`
	Sum     uint64          `json:"sum_ns"`
	Worst   uint64          `json:"worst_ns"`
	Budget  uint64          `json:"budget_ns"`
	Over    uint64          `json:"over"`
	Each    uint64          `json:"frames_in_bucket"`
	Buckets []uint64        `json:"worst_of_bucket_ns"`
	Longest []longFrameJSON `json:"longest"`
}

type longFrameJSON struct {
	Number uint64   `json:"frame"`
	Took   uint64   `json:"took_ns"`
	At     uint64   `json:"ended_at_ns"` // since the log began
	Spikes []uint64 `json:"spikes"`      // numbers of the first ones
	// Eaters are the functions that took its time, longest first.
	Eaters []eaterJSON `json:"taken_by"`
}

func newFramesJSON(t *spikeset.Set, l *spikes.Log, in map[uint64]*spikes.InFrame) framesJSON {
	f := l.Frames
	out := framesJSON{
		PID: l.Header.PID, Log: l.Name, Frames: f.Count, Sum: f.Sum, Worst: f.Worst, Budget: f.Budget, Over: f.Over,
		Each: f.Each, Buckets: []uint64{}, Longest: []longFrameJSON{},
	}
	for _, b := range f.Buckets {
		out.Buckets = append(out.Buckets, b.Worst)
	}
	for _, x := range f.Longest {
		out.Longest = append(out.Longest, newLongFrameJSON(t, x, l, in[x.Number]))
	}
	return out
}

// eaterJSON is a function that took the time of a frame.
type eaterJSON struct {
	Function string   `json:"function"`
	Chain    []string `json:"chain"`   // of its longest call: its callers that took too long as well, outermost first, and itself
	Time     uint64   `json:"took_ns"` // not explained by calls below, a lower bound
	Calls    uint64   `json:"calls"`
}

func newLongFrameJSON(t *spikeset.Set, x tracelog.Frame, l *spikes.Log, in *spikes.InFrame) longFrameJSON {
	out := longFrameJSON{Number: x.Number, Took: x.Took, At: x.End - min(x.End, l.Header.Monotonic), Spikes: in.Spikes, Eaters: []eaterJSON{}}
	for i := range in.Eaters {
		e := &in.Eaters[i]
		out.Eaters = append(out.Eaters, eaterJSON{e.Name(t.Names.Name).Function, e.Chain(t.Names.Name), e.Time, e.Calls})
	}
	return out
}
