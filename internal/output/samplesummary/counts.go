package samplesummary

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

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
