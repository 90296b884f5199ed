package spikes

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
)

// FrameSpikes are the spikes of a process by the frame that they ended in.
type FrameSpikes map[uint64][]*Spike

// Frames returns the spikes in the longest frames of each log.
func (s *Set) Frames(each func(func(log int, e *tracelog.Episode) error) error) ([]FrameSpikes, error) {
	out := make([]FrameSpikes, len(s.Logs))
	for i := range s.Logs {
		out[i] = make(FrameSpikes)
		if f := s.Logs[i].Frames; f != nil {
			for _, x := range f.Longest {
				out[i][x.Number] = nil
			}
		}
	}
	const most = 8 // of a frame
	err := each(func(log int, e *tracelog.Episode) error {
		if list, ok := out[log][e.Frame]; ok && len(list) < most && e.Flags&tracelog.Snapshot == 0 {
			out[log][e.Frame] = append(list, s.Spike(log, e))
		}
		return nil
	})
	return out, err
}

// FramesText says how long the frames of a process took.
func FramesText(f *tracelog.Frames) string {
	text := fmt.Sprintf("%s: mean %s, longest %s; ", count(f.Count, "frame", "frames"), Duration(f.Sum/max(1, f.Count)), Duration(f.Worst))
	if f.Over == 0 {
		return text + "none longer than " + Duration(f.Budget)
	}
	return text + fmt.Sprintf("%s longer than %s (%s %%)", report.Count(f.Over), Duration(f.Budget),
		report.Decimal(100*float64(f.Over)/float64(max(1, f.Count))))
}

// Sparkline draws the longest frame of each part of the run as bars of up to width
// characters, the longest of all eight eighths high. A row of bars stands for each
// frames. Bars of frames longer than the budget are marked by over.
func Sparkline(f *tracelog.Frames, width int) (bars string, over []bool, each uint64) {
	const eighths = "▁▂▃▄▅▆▇█"
	width = max(1, width)
	step := max(1, (len(f.Buckets)+width-1)/width)
	var b strings.Builder
	for i := 0; i < len(f.Buckets); i += step {
		worst := uint64(0)
		late := false
		for _, x := range f.Buckets[i:min(i+step, len(f.Buckets))] {
			worst = max(worst, x.Worst)
			late = late || x.Over > 0
		}
		height := min(7, int(8*float64(worst)/float64(max(1, f.Worst))))
		b.WriteString(string([]rune(eighths)[height]))
		over = append(over, late)
	}
	return b.String(), over, f.Each * uint64(step)
}
