// Package filesummary describes files of cairn, instrumented binaries and sample profiles.
package filesummary

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Write prints a summary of a file, of each of several, or of those of cairn below a directory.
func Write(s *verb.Streams, args []string, asJSON bool, style report.Style) error {
	if len(args) > 1 {
		return runSeveral(s, args, asJSON, style)
	}
	path := args[0]
	if isDir(path) {
		return runDir(s, path, asJSON, style)
	}
	if p, err := inspectSampleProfile(s, path); err != nil {
		return err
	} else if p != nil {
		return p.write(s, asJSON, style)
	}
	infos, err := inspect(path)
	if err != nil {
		return err
	}
	return write(s.Out, infos, asJSON, style)
}

// write prints the descriptions of modules.
func write(w io.Writer, infos []infoJSON, asJSON bool, style report.Style) error {
	if asJSON {
		return report.WriteJSON(w, struct {
			Modules []infoJSON `json:"modules"`
		}{infos})
	}
	return writeInfos(w, infos, style)
}

// infoJSON is the description of a module. Pointers are nil if the kind of file does not
// contain the value.
type infoJSON struct {
	File         string              `json:"file,omitempty"` // only for directories and several files
	Kind         string              `json:"kind"`           // profile, map, raw or binary
	Module       string              `json:"module,omitempty"`
	BuildID      string              `json:"build_id"`
	Machine      string              `json:"machine,omitempty"` // "" if the file does not contain it
	Modes        []string            `json:"modes,omitempty"`
	RawSize      uint64              `json:"raw_size"`
	Raws         *uint64             `json:"raws,omitempty"`
	RunsHeld     *int                `json:"runs_held,omitempty"` // of these it is known which they are
	RunsSketch   bool                `json:"runs_sketch,omitempty"`
	Functions    *coverage.TallyJSON `json:"functions,omitempty"`
	Absent       map[string]int      `json:"absent,omitempty"` // functions that were compiled and that it does not have, by reason
	Blocks       *coverage.TallyJSON `json:"blocks,omitempty"`
	Calls        *uint64             `json:"calls,omitempty"`
	CallsInexact bool                `json:"calls_inexact,omitempty"`
	legend       string              // of CallsInexact
	Edges        *int                `json:"edges,omitempty"`
	Traces       *int                `json:"traces,omitempty"`
	TracesSeen   uint64              `json:"traces_seen,omitempty"` // runs that traces are a sample of
	Scenarios    []string            `json:"scenarios,omitempty"`
	PID          *uint32             `json:"pid,omitempty"`
	Continuous   bool                `json:"continuous,omitempty"`
	Slots        *uint32             `json:"order_slots,omitempty"`      // of the order buffer
	First        *uint32             `json:"first_executions,omitempty"` // of which the last are in the buffer
	Copies       uint64              `json:"copies,omitempty"`           // of the raw section, each of one processor
}

// described reports whether inspect reads a kind of file that is not a binary.
func described(k kind.Kind) bool {
	return k == kind.Profile || k == kind.Map || k == kind.Raw || k == kind.Pack
}

// inspect reads the file at path, of any supported kind.
func inspect(path string) ([]infoJSON, error) {
	head, err := verb.ReadHead(path)
	if err != nil {
		return nil, err
	}
	k := kind.Of(head)
	if k == kind.Binary {
		return inspectBinary(path)
	}
	if !described(k) {
		return nil, fmt.Errorf("%s is not a profile, map, raw file, pack or binary: it is %v", path, k)
	}
	data, err := verb.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var infos []infoJSON
	switch k {
	case kind.Profile:
		infos, err = inspectProfile(data)
	case kind.Map:
		var m *prof.Map
		if m, err = mip.ReadMap(data); err == nil {
			infos = []infoJSON{mapInfo("map", m)}
		}
	case kind.Raw:
		var raw mip.Raw
		if raw, err = mip.ParseRaw(data); err == nil {
			infos = []infoJSON{rawInfo(&raw)}
		}
	case kind.Pack:
		infos, err = inspectPack(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return infos, nil
}

func inspectPack(data []byte) ([]infoJSON, error) {
	files, err := mippack.Unpack(data)
	if err != nil {
		return nil, err
	}
	infos := make([]infoJSON, 0, len(files))
	for i := range files {
		raw, err := mip.ParseRaw(files[i].Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[i].Name, err)
		}
		infos = append(infos, rawInfo(&raw))
	}
	return infos, nil
}

func inspectProfile(data []byte) ([]infoJSON, error) {
	p, err := mip.ReadProfile(data)
	if err != nil {
		return nil, err
	}
	edges := make([]int, len(p.Modules))
	graph := callgraph.Build(p, false)
	for _, e := range graph.Edges {
		edges[graph.Nodes[e.From].Module]++
	}
	infos := make([]infoJSON, len(p.Modules))
	for i := range p.Modules {
		infos[i] = profileInfo(&p.Modules[i], edges[i])
	}
	return infos, nil
}

func profileInfo(m *prof.Module, edges int) infoJSON {
	j := mapInfo("profile", &m.Map)
	sum := coverage.Summarize(m)
	functions, blocks := sum.Functions.JSON(), sum.Blocks.JSON()
	j.Raws, j.Functions = &m.Raws, &functions
	if n := len(m.Held.IDs); n > 0 {
		j.RunsHeld, j.RunsSketch = &n, m.Held.Sketch
	}
	if sum.Blocks.Total > 0 {
		j.Blocks = &blocks
	}
	for _, mode := range sum.Modes {
		if mode.HasCalls() {
			j.Calls, j.CallsInexact, j.legend = &sum.Calls, sum.Inexact, coverage.InexactLegend(&m.Map)
		}
		if mode == prof.ModeFull || edges > 0 { // order --run sees some, too
			j.Edges = &edges
		}
	}
	if n := len(m.Traces); n > 0 { // of order --run if the mode records none
		j.Traces, j.TracesSeen, j.Scenarios = &n, m.TracesSeen, scenarios(m)
	}
	return j
}

// scenarios returns the names of the scenarios that m has traces of.
func scenarios(m *prof.Module) []string {
	var names []string
	for i := range m.Traces {
		names = append(names, m.Traces[i].Scenario)
	}
	return slices.Compact(names)
}

// mapInfo describes a map as a profile of no runs.
func mapInfo(kind string, m *prof.Map) infoJSON {
	sum := coverage.Summarize(&prof.Module{Map: *m, Counts: make([]prof.Counts, len(m.Funcs))})
	functions, blocks := sum.Functions.JSON(), sum.Blocks.JSON()
	j := infoJSON{Kind: kind, Module: m.Module, BuildID: m.BuildID.String(), Machine: m.Machine, RawSize: m.RawSize, Functions: &functions}
	if sum.Blocks.Total > 0 {
		j.Blocks = &blocks
	}
	for _, mode := range sum.Modes {
		j.Modes = append(j.Modes, mode.String())
	}
	for i := range m.Absent {
		if j.Absent == nil {
			j.Absent = map[string]int{}
		}
		j.Absent[m.Absent[i].Why.String()]++
	}
	return j
}

func rawInfo(raw *mip.Raw) infoJSON {
	j := infoJSON{Kind: "raw", BuildID: raw.BuildID.String(), RawSize: raw.Size, PID: &raw.PID, Continuous: raw.Continuous, Copies: raw.Copies}
	if raw.Scenario != "" {
		j.Scenarios = []string{raw.Scenario}
	}
	if raw.Slots > 0 {
		j.Slots, j.First = &raw.Slots, &raw.Next
	}
	return j
}

// inspectBinary describes an ELF module by its sections.
func inspectBinary(path string) ([]infoJSON, error) {
	bin, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	id, err := bin.BuildID()
	if err != nil && !errors.Is(err, objfile.ErrNoBuildID) {
		return nil, err
	}
	_, addr, size, ok, err := bin.Section(wire.RawSection)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s is not instrumented: it has no section %s (build it with cairn cc)", path, wire.RawSection)
	}
	m := prof.Map{BuildID: id, RawAddr: addr, RawSize: size, Machine: bin.MachineName()}
	data, err := gather.MapSection(bin)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return []infoJSON{{Kind: "binary", BuildID: id.String(), Machine: m.Machine, RawSize: size}}, nil
	}
	if m.Funcs, _, err = mip.ReadMapSection(data, addr, size); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return []infoJSON{mapInfo("binary", &m)}, nil
}

// writeInfos prints one block of lines for each module.
func writeInfos(w io.Writer, infos []infoJSON, style report.Style) error {
	for i := range infos {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := infos[i].table().Write(w, style); err != nil {
			return err
		}
	}
	if i := slices.IndexFunc(infos, func(j infoJSON) bool { return j.CallsInexact }); i >= 0 {
		_, err := fmt.Fprintf(w, "\n%s\n", style.Paint(report.Dim, infos[i].legend))
		return err
	}
	return nil
}

func (j *infoJSON) table() *report.Table {
	t := report.NewTable("", "")
	row := func(key, value string, color report.Color) {
		t.Add(report.Cell{Text: key, Color: report.Dim}, report.Cell{Text: value, Color: color})
	}
	if j.File != "" {
		row("file", j.File, report.Plain)
	}
	if j.Module != "" {
		row("module", j.Module, report.Bold)
	}
	row("kind", j.Kind, report.Plain)
	if j.Machine != "" {
		row("machine", j.Machine, report.Plain)
	}
	row("build id", cmp.Or(j.BuildID, "none"), report.Plain)
	if len(j.Modes) > 0 {
		row("mode", strings.Join(j.Modes, ", "), report.Plain)
	}
	row("raw section", report.Count(j.RawSize)+" bytes", report.Plain)
	if j.PID != nil {
		row("process", fmt.Sprint(*j.PID), report.Plain)
		if j.Copies > 0 {
			row("copies", report.Count(j.Copies)+", of processors that count by themselves", report.Plain)
		}
		row("written", map[bool]string{false: "at exit", true: "live, page by page"}[j.Continuous], report.Plain)
	}
	if j.PID != nil && len(j.Scenarios) > 0 {
		row("scenario", j.Scenarios[0], report.Plain)
	}
	if j.Slots != nil {
		row("order", fmt.Sprintf("%s first executions, room for %s", report.Count(uint64(*j.First)), report.Count(uint64(*j.Slots))), report.Plain)
	}
	if j.Raws != nil {
		row("runs merged", j.runsText(), report.Plain)
	}
	j.tallyRow(row, "functions", j.Functions)
	if len(j.Absent) > 0 {
		row("absent", j.absentText(), report.Plain)
	}
	j.tallyRow(row, "blocks", j.Blocks)
	if j.Calls != nil {
		row("calls", verb.AtLeast(j.CallsInexact)+report.Count(*j.Calls), report.Plain)
	}
	if j.Edges != nil {
		row("call edges", report.Count(*j.Edges), report.Plain)
	}
	if j.Traces != nil {
		row("orders", j.tracesText(), report.Plain)
	}
	return t
}

// absentText describes the functions that were compiled and are not in the module.
func (j *infoJSON) absentText() string {
	total := 0
	var reasons []string
	for _, why := range slices.Sorted(maps.Keys(j.Absent)) {
		total += j.Absent[why]
		reasons = append(reasons, report.Count(j.Absent[why])+" "+why)
	}
	return fmt.Sprintf("%s: %s", report.Plural(total, "function"), strings.Join(reasons, ", "))
}

// runsText describes the number of runs, and how exactly they are identified.
func (j *infoJSON) runsText() string {
	text := report.Count(*j.Raws)
	switch {
	case j.RunsHeld == nil:
	case j.RunsSketch:
		text += " (remembered by a sketch)"
	case uint64(*j.RunsHeld) < *j.Raws:
		text += fmt.Sprintf(" (%s remembered)", report.Count(*j.RunsHeld))
	}
	return text
}

// tracesText describes the number of traces and their scenarios.
func (j *infoJSON) tracesText() string {
	text := report.Count(*j.Traces)
	if j.TracesSeen > uint64(*j.Traces) {
		text += " of " + report.Count(j.TracesSeen)
	}
	const most = 8
	names := j.Scenarios
	if len(names) == 0 || len(names) == 1 && names[0] == "" {
		return text
	}
	for i, name := range names[:min(most, len(names))] {
		text += map[bool]string{true: " (", false: ", "}[i == 0] + cmp.Or(name, "no scenario")
	}
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text + ")"
}

// tallyRow prints a tally: with a share if there were runs, otherwise only the total.
func (j *infoJSON) tallyRow(row func(key, value string, color report.Color), key string, t *coverage.TallyJSON) {
	switch {
	case t == nil:
	case j.Raws == nil:
		row(key, report.Count(t.Total), report.Plain)
	default:
		ran := "ran"
		if slices.Contains(j.Modes, prof.ModeSampled.String()) {
			ran = "were sampled"
		}
		row(key, fmt.Sprintf("%s of %s %s (%s)", report.Count(t.Covered), report.Count(t.Total), ran, report.Percent(t.Covered, t.Total)), report.Plain)
	}
}
