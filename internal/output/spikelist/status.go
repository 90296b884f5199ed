package spikelist

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/spikes/spikecontrol"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// WriteStatus prints a line for each program.
func WriteStatus(s *verb.Streams, style report.Style, list []*spikecontrol.Status) error {
	table := report.NewTable(">process", "/program", "", ">threshold", ">rate", ">spikes", "~channels")
	for _, st := range list {
		state, color := "on", report.Green
		if !st.On {
			state, color = "off", report.Amber
		}
		var channels []string
		for _, c := range st.Channels {
			channels = append(channels, map[bool]string{true: "+", false: "-"}[c.On]+report.Printable(c.Name))
		}
		stablesort.Func(channels, func(a, b string) int { return cmp.Compare(a[1:], b[1:]) })
		if st.Omitted > 0 {
			channels = append(channels, "and "+report.Count(st.Omitted)+" more")
		}
		table.Add(report.Text(strconv.Itoa(st.PID)), report.Text(report.Printable(filepath.Base(st.Program))),
			report.Cell{Text: state, Color: color}, report.Text(spikes.Duration(uint64(max(st.Threshold, 0)))),
			report.Text(report.Count(st.Rate)), report.Text(report.Count(st.Episodes)), report.Text(strings.Join(channels, " ")))
	}
	return table.Write(s.Out, style)
}

// Status is a program in JSON. Durations are nanoseconds.
type Status struct {
	PID       int             `json:"pid"`
	Program   string          `json:"program"`
	Socket    string          `json:"socket"`
	Log       string          `json:"log,omitempty"`
	On        bool            `json:"on"`
	Threshold int64           `json:"threshold_ns"`
	Period    int64           `json:"period_ns"`
	Rate      uint64          `json:"rate"`
	Spikes    uint64          `json:"spikes"`
	Frame     uint64          `json:"frame,omitempty"`
	Channels  map[string]bool `json:"channels"`
	Omitted   uint64          `json:"channels_omitted,omitempty"`
}

// StatusJSON returns what JSON has of programs.
func StatusJSON(list []*spikecontrol.Status) []Status {
	out := []Status{}
	for _, st := range list {
		x := Status{
			PID: st.PID, Program: st.Program, Socket: st.Socket, Log: st.Log, On: st.On, Threshold: int64(st.Threshold),
			Period: int64(st.Period), Rate: st.Rate, Spikes: st.Episodes, Frame: st.Frame, Channels: map[string]bool{}, Omitted: st.Omitted,
		}
		for _, c := range st.Channels {
			x.Channels[c.Name] = c.On
		}
		out = append(out, x)
	}
	return out
}
