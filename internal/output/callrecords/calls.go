package callrecords

import (
	"fmt"
	"iter"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
)

// dumpLog is a log whose records are printed. Those of mode trace are converted to XRay's
// form.
type dumpLog struct {
	calllog.Log
	about   xray.About
	records func(from int64) iter.Seq2[xray.Record, error]
}

// open opens a log, and loads the names of its functions.
func (p *recordPrinter) open(file *logfile.File, maps []string) (*dumpLog, error) {
	if k := kind.Of(file.Head(logfile.HeadSize)); k != kind.TraceLog {
		if k == kind.XRayProfile {
			return nil, fmt.Errorf("%s: a profile of XRay has only sums: cairn stacks and account show them", file.Name)
		}
		log, err := xray.Open(file, file.Size, file.Name)
		if err != nil {
			return nil, err
		}
		if !p.mapped {
			loaded, err := logset.LoadMaps(p.set.Streams, maps)
			if err != nil {
				return nil, err
			}
			p.set.Funcs = loaded.Funcs
			p.mapped = true
			clear(p.set.Shown)
		}
		return &dumpLog{log, log.About(), log.RecordsFrom}, nil
	}
	set := logset.New(p.set.Streams, nil, file)
	log, err := tracelog.OpenEvents(file, file.Size, file.Name, &set.Objects)
	if err != nil {
		return nil, err
	}
	if p.set.Funcs, err = set.OwnFuncs(maps); err != nil {
		return nil, err
	}
	p.mapped = false
	clear(p.set.Shown)
	about := xray.About{FDR: true, Hz: log.Info().Clock.Hz, Buffer: wire.ChunkSize}
	return &dumpLog{log, about, func(from int64) iter.Seq2[xray.Record, error] { return callRecords(log, from) }}, nil
}

// callRecords yields the events of a log of mode trace from an offset on.
func callRecords(log *tracelog.Events, from int64) iter.Seq2[xray.Record, error] {
	return func(yield func(xray.Record, error) bool) {
		for _, d := range log.Info().Damage {
			if d.Offset >= from && !yield(xray.Record{Offset: d.Offset, Size: d.Size}, d) {
				return
			}
		}
		last := make(map[uint32]uint64) // by thread
		for e, err := range log.Records() {
			if e.Offset < from {
				continue
			}
			r := xray.Record{
				Kind: xray.Call, Offset: e.Offset, Size: wire.EventSize, PID: log.Header.PID, TID: e.TID,
				Time: e.Time, Event: e.Kind, Func: e.Func,
			}
			if before, ok := last[e.TID]; ok {
				r.Delta = int64(e.Time - before)
			}
			if err == nil {
				last[e.TID] = e.Time
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
