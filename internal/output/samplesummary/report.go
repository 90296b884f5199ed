package samplesummary

import (
	"fmt"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/samplestats"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// samplesJSON is the description of an input.
type samplesJSON struct {
	File      string              `json:"file"`
	Format    string              `json:"format"`
	Kind      string              `json:"kind"`
	Command   string              `json:"command,omitempty"`
	Host      string              `json:"host,omitempty"`
	Events    []string            `json:"events"`
	Bytes     int64               `json:"bytes"`
	Samples   uint64              `json:"samples"`
	Records   uint64              `json:"records"` // fewer than samples if these are counted together
	ByReason  map[string]uint64   `json:"samples_by_reason"`
	InKernel  uint64              `json:"samples_in_kernel"`
	Elsewhere uint64              `json:"samples_elsewhere"`
	CutStacks uint64              `json:"cut_stacks"`
	Frames    uint64              `json:"frames"`
	Branches  uint64              `json:"branches"`
	Depths    []depthJSON         `json:"branch_depths"`
	Lost      uint64              `json:"lost_records"`
	Trace     *traceLossJSON      `json:"trace,omitempty"`
	Mappings  int                 `json:"mappings"`
	Conflicts int                 `json:"mapping_conflicts"`
	Binaries  []sampleBinaryJSON  `json:"binaries"`
	Processes []sampleProcessJSON `json:"processes"`
	Damage    []sampleDamageJSON  `json:"damage"`

	kind sample.Kind
}

// traceLossJSON counts the pieces of a trace, and those with losses of each kind.
type traceLossJSON struct {
	Pieces     uint64 `json:"pieces"`
	Lossy      uint64 `json:"lossy"`
	Truncated  uint64 `json:"truncated"`
	Partial    uint64 `json:"partial"`
	Collisions uint64 `json:"collisions"`
	Undecoded  uint64 `json:"undecoded_bytes,omitempty"`
}

type depthJSON struct {
	// Branches is the number of branches in a sample; the last element, for samples with more
	// than hardware records, is one more than that maximum.
	Branches int    `json:"branches"`
	Samples  uint64 `json:"samples"`
}

type sampleBinaryJSON struct {
	Path      string `json:"path"`
	BuildID   string `json:"build_id"`
	Samples   uint64 `json:"samples"`
	Frames    uint64 `json:"frames"`
	Branches  uint64 `json:"branches"`
	Processes int    `json:"processes"`
	Loads     int    `json:"load_addresses"`
}

type sampleProcessJSON struct {
	PID     *int32 `json:"pid"` // null if samples do not contain it
	Name    string `json:"name"`
	Samples uint64 `json:"samples"`
}

type sampleDamageJSON struct {
	What   string `json:"what"`
	Count  uint64 `json:"count"`
	Line   int64  `json:"line,omitempty"`
	Offset int64  `json:"offset"`
}

func newSamplesJSON(in *samplefile.File, r *samplestats.Result) *samplesJSON {
	info, stats := in.Info(), in.Stats()
	doc := &samplesJSON{
		File: info.File, Format: info.Format, Kind: info.Kind.String(), kind: info.Kind,
		Command: info.Command, Host: info.Host, Events: append([]string{}, info.Events...),
		Bytes: stats.Bytes, Samples: stats.Samples, Records: stats.Records, ByReason: map[string]uint64{},
		InKernel: r.InKernel, Elsewhere: r.Elsewhere, CutStacks: r.CutStacks,
		Frames: stats.Frames, Branches: stats.Branches, Depths: []depthJSON{}, Lost: stats.Lost,
		Mappings: r.Mappings, Conflicts: r.Conflicts,
		Binaries: []sampleBinaryJSON{}, Processes: []sampleProcessJSON{}, Damage: []sampleDamageJSON{},
	}
	if stats.Trace.Pieces > 0 {
		loss := traceLossJSON(stats.Trace)
		doc.Trace = &loss
	}
	for reason, n := range r.ByReason {
		doc.ByReason[samplestats.Reason(reason).Key()] = n
	}
	for depth, n := range stats.ByDepth {
		if n > 0 {
			doc.Depths = append(doc.Depths, depthJSON{depth, n})
		}
	}
	for _, b := range r.Binaries {
		doc.Binaries = append(doc.Binaries, sampleBinaryJSON{b.Path, b.BuildID, b.Samples, b.Frames, b.Branches, b.Processes, b.Loads})
	}
	for _, p := range r.Processes {
		row := sampleProcessJSON{Name: p.Name, Samples: p.Samples}
		if p.PID != sample.UnknownPID {
			row.PID = &p.PID
		}
		doc.Processes = append(doc.Processes, row)
	}
	for _, d := range stats.Damage {
		doc.Damage = append(doc.Damage, sampleDamageJSON{d.What, d.Count, d.Line, d.Offset})
	}
	return doc
}

// Write writes it as tables.
func (doc *samplesJSON) Write(w io.Writer, style report.Style, top int) error {
	together := ""
	if doc.Records < doc.Samples {
		together = fmt.Sprintf(" in %s with counts of equal samples", report.Plural(int(doc.Records), "record"))
	}
	fmt.Fprintf(w, "%s: %s, %s with %s%s\n", report.Printable(doc.File), doc.Format, report.Plural(int(doc.Samples), "sample"), doc.kind, together)
	if doc.Command != "" {
		fmt.Fprintf(w, "recorded by: %s\n", report.Printable(doc.Command))
	}
	tables := []*report.Table{doc.reasons()}
	if doc.kind.HasBranches() {
		tables = append(tables, doc.depths())
	}
	tables = append(tables, doc.binaryTable(top), doc.processTable(top))
	for _, t := range tables {
		if t.Len() == 0 {
			continue
		}
		fmt.Fprintln(w)
		if err := t.Write(w, style); err != nil {
			return err
		}
	}
	return nil
}

// sampleTable returns a table whose first columns are numbers of samples.
func sampleTable(titles ...string) *report.Table {
	t := report.NewTable(">SAMPLES", ">SHARE")
	t.Head(titles...)
	return t
}

// of returns the first cells of a row of such a table.
func (doc *samplesJSON) of(n uint64, cells ...report.Cell) []report.Cell {
	first := []report.Cell{report.Text(report.Count(n)), report.Text(report.Percent(int(n), int(doc.Samples)))}
	return append(first, cells...)
}

func (doc *samplesJSON) reasons() *report.Table {
	t := sampleTable("WHAT OF THEM")
	for reason := range samplestats.Reasons {
		if n := doc.ByReason[reason.Key()]; n > 0 || reason == samplestats.Usable {
			t.Add(doc.of(n, report.Text(reason.String()))...)
		}
	}
	return t
}

// depthRanges are the rows of the table of depths: those of hardware, and the ranges between
// them.
var depthRanges = []struct {
	last int
	name string
}{{0, "none"}, {7, "1 to 7"}, {8, "8"}, {15, "9 to 15"}, {16, "16"}, {31, "17 to 31"}, {32, "32"}, {63, "33 to 63"}, {64, "64"}}

func (doc *samplesJSON) depths() *report.Table {
	t := sampleTable("BRANCHES")
	rest := doc.Depths
	for _, r := range depthRanges {
		n := uint64(0)
		for len(rest) > 0 && rest[0].Branches <= r.last {
			n += rest[0].Samples
			rest = rest[1:]
		}
		if n > 0 {
			t.Add(doc.of(n, report.Text(r.name))...)
		}
	}
	for _, d := range rest {
		t.Add(doc.of(d.Samples, report.Text("more"))...)
	}
	return t
}

func (doc *samplesJSON) binaryTable(top int) *report.Table {
	t := sampleTable()
	if doc.kind.HasBranches() {
		t.Head("?>BRANCHES")
	}
	if doc.kind.HasStacks() {
		t.Head("?>FRAMES")
	}
	t.Head("?>LOADED", "?BUILD ID", "/BINARY")
	for i, b := range doc.Binaries {
		if i == top && top > 0 {
			break
		}
		var cells []report.Cell
		if doc.kind.HasBranches() {
			cells = append(cells, report.Text(report.Count(b.Branches)))
		}
		if doc.kind.HasStacks() {
			cells = append(cells, report.Text(report.Count(b.Frames)))
		}
		const idDigits = 12 // as prof.BuildID.Short has
		cells = append(cells, report.Text(strconv.Itoa(b.Loads)+"x"), report.Text(b.BuildID[:min(idDigits, len(b.BuildID))]), report.Text(b.Path))
		t.Add(doc.of(b.Samples, cells...)...)
	}
	for _, other := range []struct {
		samples uint64
		name    string
	}{{doc.InKernel, "(the kernel)"}, {doc.Elsewhere, "(no file)"}} {
		if other.samples > 0 {
			cells := make([]report.Cell, len(t.Columns)-2)
			cells[len(cells)-1] = report.Text(other.name)
			t.Add(doc.of(other.samples, cells...)...)
		}
	}
	return t
}

func (doc *samplesJSON) processTable(top int) *report.Table {
	t := sampleTable(">PROCESS", "NAME")
	for i, p := range doc.Processes {
		if i == top && top > 0 {
			break
		}
		if p.PID == nil {
			if len(doc.Processes) > 1 {
				t.Add(doc.of(p.Samples, report.Text("?"), report.Text("not told"))...)
			}
			continue
		}
		t.Add(doc.of(p.Samples, report.Text(strconv.Itoa(int(*p.PID))), report.Text(p.Name))...)
	}
	return t
}

// countsJSON describes counts of samples.
type countsJSON struct {
	File        string `json:"file"`
	Format      string `json:"format"`
	HasContexts bool   `json:"has_contexts"`
	Contexts    int    `json:"contexts"`
	Ranges      int    `json:"ranges"`
	RangeCount  uint64 `json:"range_count"`
	Branches    int    `json:"branches"`
	BranchCount uint64 `json:"branch_count"`
}

// readCounts sums up an unsymbolized profile.
func readCounts(s *verb.Streams, stream *logfile.Stream) (*countsJSON, error) {
	p, err := unsymbolized.Read(stream, stream.Name)
	if err != nil {
		return nil, err
	}
	if text := stream.Note(); text != "" {
		verb.Note(s, "%s", text)
	}
	doc := &countsJSON{File: stream.Name, Format: "unsymbolized profile", HasContexts: p.HasContexts}
	for i := range p.Counts {
		c := &p.Counts[i]
		doc.Contexts++
		doc.Ranges += len(c.Ranges)
		for _, r := range c.Ranges {
			doc.RangeCount += r.Count
		}
		doc.Branches += len(c.Branches)
		for _, b := range c.Branches {
			doc.BranchCount += b.Count
		}
	}
	return doc, nil
}

func (doc *countsJSON) Write(w io.Writer, style report.Style, _ int) error {
	contexts := "without contexts"
	if doc.HasContexts {
		contexts = "with " + report.Plural(doc.Contexts, "context")
	}
	fmt.Fprintf(w, "%s: %s %s\n\n", report.Printable(doc.File), doc.Format, contexts)
	t := report.NewTable(">COUNT", ">DIFFERENT", "WHAT")
	t.Row(report.Count(doc.RangeCount), report.Count(doc.Ranges), "ranges")
	t.Row(report.Count(doc.BranchCount), report.Count(doc.Branches), "branches")
	return t.Write(w, style)
}
