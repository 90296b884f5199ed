package mip

import (
	"fmt"

	"github.com/cairnprof/cairn/prof"
)

// The text form of functions that a map lacks.
type (
	textAbsent struct {
		Name    text        `yaml:"name,omitempty"`
		File    text        `yaml:"file,omitempty"`
		Why     string      `yaml:"why"`
		Note    text        `yaml:"note,omitempty"`
		Shared  bool        `yaml:"shared,omitempty"`  // other objects may have it as well
		Inlined bool        `yaml:"inlined,omitempty"` // others have code of its lines
		Source  text        `yaml:"source,omitempty"`  // file with its definition
		Line    uint32      `yaml:"line,omitempty"`    // of its definition
		Lines   []textLines `yaml:"lines,omitempty"`
	}
	textLines struct {
		File text   `yaml:"file"`
		From uint32 `yaml:"from"`
		To   uint32 `yaml:"to"`
	}
)

func textOfAbsent(list []prof.Absent) []textAbsent {
	var out []textAbsent
	for i := range list {
		a := &list[i]
		t := textAbsent{text(a.Name), text(a.File), a.Why.String(), text(a.Note), a.Shared, a.Inlined, text(a.Source), a.Line, nil}
		for _, r := range a.Lines {
			t.Lines = append(t.Lines, textLines{text(r.File), r.From, r.To})
		}
		out = append(out, t)
	}
	return out
}

func absentOf(list []textAbsent) ([]prof.Absent, error) {
	var out []prof.Absent
	for i := range list {
		t := &list[i]
		why, ok := prof.ParseAbsence(t.Why)
		if !ok {
			return nil, fmt.Errorf("absent function %q: unknown reason %q", t.Name, t.Why)
		}
		a := prof.Absent{
			Name: string(t.Name), File: string(t.File), Why: why, Note: string(t.Note), Shared: t.Shared, Inlined: t.Inlined, Source: string(t.Source), Line: t.Line,
		}
		for _, r := range t.Lines {
			a.Lines = append(a.Lines, prof.LineRange{File: string(r.File), From: r.From, To: r.To})
		}
		out = append(out, a)
	}
	return out, nil
}
