package cli

import (
	"context"
	"errors"

	"github.com/cairnprof/cairn/internal/report"
)

// measurement is what runs of a binary really did. Pages are those of the text
// section, faults those of the whole process.
type measurement struct {
	Predicted  int    `json:"predicted"`   // pages touched, of those that are watched
	Touched    int    `json:"touched"`     // pages touched
	WarmFaults int64  `json:"warm_faults"` // with the binary in the page cache
	ColdFaults *int64 `json:"cold_faults"` // from disk, with nothing of it there; null if not to be had
	TextRead   *int   `json:"text_read"`   // pages read from disk, needed or ahead
	ReadAhead  bool   `json:"read_ahead"`  // all was read ahead: cold faults tell nothing
}

// measure runs each binary with the arguments, three times.
func (pm *pageMap) measure(context.Context, *Streams, []string) error {
	if len(pm.scenarios) > 1 {
		return usagef("--measure runs one scenario: choose it with --scenario")
	}
	return errors.New("--measure: this build of cairn cannot watch programs")
}

// measuredTable sets what was measured beside what was predicted.
func (pm *pageMap) measuredTable() *report.Table {
	t := &report.Table{Columns: []report.Column{{Title: "measured"}}}
	for k := range pm.measured {
		title := "pages"
		if len(pm.measured) > 1 {
			title = layoutLabels[k]
		}
		t.Columns = append(t.Columns, report.Column{Title: title, Align: report.Right})
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
