package callrecords

import (
	"fmt"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
)

// nodeRecord is a stack of a log of mode stacks as an object. A thread's nodes are numbered
// from 1; 0 is the parent of those without a caller.
type nodeRecord struct {
	File    string `json:"file,omitempty"`
	Offset  int64  `json:"offset"`
	Size    int64  `json:"size"`
	Kind    string `json:"kind"`
	Process uint32 `json:"process"`
	Thread  uint32 `json:"thread"`
	Number  int    `json:"number"`
	Caller  int    `json:"caller"`
	Func    uint32 `json:"function"`
	Name    string `json:"name,omitempty"`
	Calls   uint64 `json:"calls"`
	Total   uint64 `json:"total"` // ns
	Longest uint64 `json:"longest,omitempty"`
	Unwound uint64 `json:"no_exit,omitempty"`
	Open    uint64 `json:"open,omitempty"`
}

// stacks prints the nodes of a log of mode stacks, thread by thread, or returns its
// summary.
func (f *Choice) stacks(file *logfile.File, p *recordPrinter) (*logSummary, error) {
	set := logset.New(p.set.Streams, nil, file)
	log, err := tracelog.OpenStacks(file, file.Size, file.Name, &set.Objects)
	if err != nil {
		return nil, err
	}
	if p.set.Funcs, err = set.OwnFuncs(f.Maps); err != nil {
		return nil, err
	}
	p.mapped = false
	clear(p.set.Shown)
	p.log = &dumpLog{Log: log, about: xray.About{FDR: true, Hz: log.Info().Clock.Hz, Buffer: wire.ChunkSize}}
	sum := newLogSummary(p.log)
	if !f.Summary && f.first == 0 && len(f.Threads)+len(f.PIDs) == 0 {
		p.header(f.Json)
	}
	for _, d := range log.Info().Damage {
		if d.Offset < f.first || d.Offset >= f.last {
			continue
		}
		if err := f.put(&xray.Record{Offset: d.Offset, Size: d.Size}, d, p, sum); err != nil {
			return nil, err
		}
	}
	sum.more = []kindSummary{{Kind: "stack"}}
	for i, th := range log.Threads() {
		if !f.Wants(th.PID, th.TID) {
			continue
		}
		if err := f.nodes(th, log.Nodes(i), p, sum); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// nodes prints and counts the nodes of a thread.
func (f *Choice) nodes(th calllog.Thread, nodes []calllog.StackNode, p *recordPrinter, sum *logSummary) error {
	t := sum.thread(&xray.Record{PID: th.PID, TID: th.TID})
	for k := range nodes {
		n := &nodes[k]
		if n.Offset < f.first || n.Offset >= f.last {
			continue
		}
		p.wanted++
		sum.more[0].Count++
		sum.more[0].Bytes += wire.NodeSize
		t.Calls += n.Calls
		t.Bytes += wire.NodeSize
		if f.Summary {
			continue
		}
		if err := p.node(f.Json, th, k+1, n); err != nil {
			return err
		}
	}
	return nil
}

// node prints a node.
func (p *recordPrinter) node(asJSON bool, th calllog.Thread, number int, n *calllog.StackNode) error {
	if asJSON {
		r := nodeRecord{
			Offset: n.Offset, Size: wire.NodeSize, Kind: "stack", Process: th.PID, Thread: th.TID, Number: number, Caller: n.Parent + 1,
			Func: uint32(n.Func), Name: p.set.Funcs[n.Func].Name,
			Calls: n.Calls, Total: n.Total, Longest: n.Longest, Unwound: n.Unwound, Open: n.Open,
		}
		if p.several {
			r.File = p.log.Info().File
		}
		return p.json.Encode(&r)
	}
	fmt.Fprintf(p.out, "%#08x  %-12s  %d below %d: %s, %s", n.Offset, fmt.Sprintf("%d/%d", th.PID, th.TID), number, n.Parent+1,
		p.set.Name(n.Func), report.Plural(int(n.Calls), "call"))
	if !n.Untimed {
		fmt.Fprintf(p.out, " in %d ns", n.Total)
	}
	if n.HasLongest {
		fmt.Fprintf(p.out, ", the longest %d ns", n.Longest)
	}
	if n.Unwound > 0 {
		fmt.Fprintf(p.out, ", %d without exit", n.Unwound)
	}
	if n.Open > 0 {
		fmt.Fprintf(p.out, ", %d still running", n.Open)
	}
	_, err := fmt.Fprintln(p.out)
	return err
}
