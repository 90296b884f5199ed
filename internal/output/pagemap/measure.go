package pagemap

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/internal/watch/ptrace"
)

// measuredPage is the size in bytes of measured pages, independently of the size for the
// prediction.
const measuredPage = 4096

// measurement has the results of runs of a binary. Pages are those of the text section, faults
// those of the whole process.
type measurement struct {
	Predicted  int    `json:"predicted"`   // touched pages, of those that can be observed
	Touched    int    `json:"touched"`     // pages touched
	WarmFaults int64  `json:"warm_faults"` // with the binary in the page cache
	ColdFaults *int64 `json:"cold_faults"` // from disk, with an empty page cache; null if not available
	TextRead   *int   `json:"text_read"`   // pages read from disk, needed or ahead
	ReadAhead  bool   `json:"read_ahead"`  // everything was read ahead: cold faults are meaningless
}

// measure runs each binary with the arguments, three times, without its streams: its output is
// not needed, and children that outlive it do not block.
func (pm *pageMap) measure(ctx context.Context, s *verb.Streams, args []string) error {
	if len(pm.scenarios) > 1 {
		return verb.Usagef("--measure runs one scenario: select it with --scenario")
	}
	pm.measured = make([]measurement, len(pm.programs))
	for k, p := range pm.programs {
		path, err := filepath.Abs(p.Path)
		if err != nil {
			return err
		}
		argv := append([]string{path}, args...)
		err = pm.measureTouched(ctx, s, k, argv)
		if err == nil {
			err = pm.measured[k].faults(ctx, s, argv)
		}
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		if err != nil {
			return fmt.Errorf("measuring %s: %w", p.Path, err)
		}
	}
	if slices.ContainsFunc(pm.measured, func(m measurement) bool { return m.ReadAhead }) {
		verb.Note(s, "the disk read all of the text ahead: faults with a cold cache are not meaningful")
	}
	return nil
}

// measureTouched counts the pages that program k touches, and those that are predicted in the
// range that can be observed.
func (pm *pageMap) measureTouched(ctx context.Context, s *verb.Streams, k int, argv []string) error {
	touched, err := ptrace.TouchedPages(ctx, argv, new(ptrace.Options))
	if err != nil {
		return err
	}
	if touched.Status.Code != 0 {
		verb.Note(s, "%s ended with %v", pm.programs[k].Path, touched.Status)
	}
	if touched.Replaced {
		verb.Note(s, "%s replaced itself by another program (exec), which was not measured", pm.programs[k].Path)
	}
	m := &pm.measured[k]
	m.Touched = len(touched.Pages)
	run, _, _ := pm.programs[k].Trace(pm.scenarios[0].Longest(), measuredPage)
	m.Predicted = expected(run, touched.Lo, touched.Hi)
	return nil
}

// expected counts the pages of a run between two addresses.
func expected(run *pages.Run, lo, hi uint64) int {
	n := 0
	for i, page := range run.Pages {
		if addr := run.Addr + uint64(i)*run.PageSize; page.Step > 0 && lo <= addr && addr < hi {
			n++
		}
	}
	return n
}

// faults runs the program with a warm cache and with a cold one. That a file
// cannot be dropped from the cache is no failure.
func (m *measurement) faults(ctx context.Context, s *verb.Streams, argv []string) error {
	warm, err := ptrace.WarmFaults(ctx, argv, new(ptrace.Options))
	if err != nil {
		return err
	}
	m.WarmFaults = warm.Minor + warm.Major
	cold, err := ptrace.ColdFaults(ctx, argv, new(ptrace.Options))
	if err != nil {
		verb.Note(s, "no faults with a cold cache: %v", err)
		return nil
	}
	m.ColdFaults, m.TextRead, m.ReadAhead = &cold.Major, &cold.Resident, cold.ReadAhead
	return nil
}

// measuredTable shows measurements beside predictions.
func (pm *pageMap) measuredTable() *report.Table {
	t := report.NewTable("measured")
	for k := range pm.measured {
		title := "pages"
		if len(pm.measured) > 1 {
			title = layoutLabels[k]
		}
		t.Head(">" + title)
	}
	if pm.measured == nil {
		return t
	}
	for _, row := range []struct {
		name  string
		value func(*measurement) *int64
	}{
		{"text pages, predicted", func(m *measurement) *int64 { return int64Of(m.Predicted) }},
		{"text pages, touched", func(m *measurement) *int64 { return int64Of(m.Touched) }},
		{"faults of the process, warm cache", func(m *measurement) *int64 { return &m.WarmFaults }},
		{"faults from disk, cold cache", func(m *measurement) *int64 { return m.ColdFaults }},
		{"text pages read, cold cache", func(m *measurement) *int64 {
			if m.TextRead == nil {
				return nil
			}
			return int64Of(*m.TextRead)
		}},
	} {
		cells := []report.Cell{report.Text(row.name)}
		for k := range pm.measured {
			text := "-"
			if v := row.value(&pm.measured[k]); v != nil {
				text = report.Count(uint64(max(*v, 0)))
			}
			cells = append(cells, report.Text(text))
		}
		t.Add(cells...)
	}
	return t
}

func int64Of(n int) *int64 {
	v := int64(n)
	return &v
}
