package logset

import (
	"fmt"
	"strconv"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// Spike is the value of a flag: the number of a spike.
type Spike struct {
	Number uint64
	Given  bool
}

func (c *Spike) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return fmt.Errorf("%q is not a spike number", text)
	}
	c.Number, c.Given = n, true
	return nil
}

func (*Spike) Type() string { return "n" }

func (*Spike) String() string { return "" }

// openWindows opens the calls around the spikes of a log.
func (t *Set) openWindows(file *logfile.File) (calllog.Log, error) {
	spike := uint64(tracelog.AllWindows)
	if t.spike.Given {
		spike = t.spike.Number
	}
	w, err := tracelog.OpenWindows(file, file.Size, file.Name, &t.Objects, spike)
	if err != nil {
		return nil, err
	}
	if len(w.Windows) > 0 {
		return w, nil
	}
	switch {
	case !t.spike.Given:
		verb.Note(t.Streams, "%s: no spike has a window (--spike 0 gives the last calls of each thread)", file.Name)
	case t.spike.Number == 0:
		verb.Note(t.Streams, "%s: the flight recorder is empty", file.Name)
	default:
		return nil, fmt.Errorf("%s: spike %d has no window: the spike does not exist, or its window was overwritten by those of longer spikes (cairn spikes lists them)", file.Name, t.spike.Number)
	}
	return w, nil
}
