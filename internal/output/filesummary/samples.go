package filesummary

import (
	"fmt"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/verb"
)

// sampleProfileJSON is the description of a sample profile. The numbers are those of
// llvm-profdata show --sample --detailed-summary.
type sampleProfileJSON struct {
	Kind        string       `json:"kind"` // sample profile
	Form        string       `json:"form"`
	Keys        string       `json:"keys"` // probes or lines
	MD5         bool         `json:"md5,omitempty"`
	FS          bool         `json:"fs_discriminators,omitempty"`
	PreInlined  bool         `json:"preinlined,omitempty"`
	Functions   int          `json:"functions"`
	Contexts    int          `json:"contexts,omitempty"`
	DeepestCall int          `json:"deepest_context,omitempty"` // functions in it
	Total       uint64       `json:"total"`
	Places      int          `json:"places"`
	Max         uint64       `json:"max_count"`
	MaxCalls    uint64       `json:"max_calls"` // of a function
	Shares      []cutoffJSON `json:"shares"`
}

// cutoffJSON has the number of locations that together have a share of all counts.
type cutoffJSON struct {
	Percent float64 `json:"percent"`
	Places  int     `json:"places"`
	Least   uint64  `json:"least_count"` // of these places
}

// inspectSampleProfile describes the file at path if it is a sample profile; if not
// it returns nil.
func inspectSampleProfile(s *verb.Streams, path string) (*sampleProfileJSON, error) {
	if verb.IsURL(path) {
		return nil, nil
	}
	stream, err := logfile.OpenStream(path, s.In)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	if !sampleprof.Detect(stream.Peek(samplefile.HeadSize)) {
		return nil, nil
	}
	p, err := sampleprof.Read(stream)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stream.Name, err)
	}
	sum := sampleprof.Summarize(p.Contexts)
	j := &sampleProfileJSON{
		Kind: "sample profile", Form: string(p.Form), Keys: "lines", MD5: p.MD5, FS: p.FS, PreInlined: p.PreInlined,
		Functions: sum.Functions, Total: sum.Total, Places: sum.Counts, Max: sum.Max, MaxCalls: sum.MaxHead,
	}
	if p.HasProbes() {
		j.Keys = "probes"
	}
	if p.HasContexts {
		j.Contexts = len(p.Contexts)
		for _, c := range p.Contexts {
			j.DeepestCall = max(j.DeepestCall, len(c.Frames))
		}
	}
	const million = 1e4 // of a percent
	for _, x := range sum.Shares {
		j.Shares = append(j.Shares, cutoffJSON{float64(x.Cutoff) / million, x.Counts, x.Least})
	}
	return j, nil
}

// table has a line for each known value.
func (j *sampleProfileJSON) table() *report.Table {
	t := report.NewTable("", "")
	row := func(key, value string) { t.Add(report.Cell{Text: key, Color: report.Dim}, report.Text(value)) }
	row("kind", j.Kind+", "+j.Form)
	keys := map[string]string{"probes": "pseudo probes", "lines": "lines"}[j.Keys]
	if j.FS {
		keys += ", with discriminators of copies (FS)"
	}
	row("keyed by", keys)
	functions := report.Count(j.Functions)
	if j.MD5 {
		functions += ", by the MD5 of their names"
	}
	row("functions", functions)
	if j.Contexts > 0 {
		row("contexts", fmt.Sprintf("%s, of up to %s", report.Count(j.Contexts), report.Plural(j.DeepestCall, "function")))
	}
	if j.PreInlined {
		row("inlining", "as a pre-inliner chose")
	}
	row("sum of counts", fmt.Sprintf("%s, in %s", report.Count(j.Total), report.Plural(j.Places, "location")))
	row("greatest count", report.Count(j.Max))
	row("most calls", report.Count(j.MaxCalls)+" of a function")
	return t
}

// shareTable has the shares of all counts.
func (j *sampleProfileJSON) shareTable() *report.Table {
	t := report.NewTable(">SHARE OF COUNTS", ">PLACES", ">OF ALL", ">LEAST COUNT")
	for _, x := range j.Shares {
		t.Row(fmt.Sprintf("%g%%", x.Percent), report.Count(x.Places), report.Share(uint64(x.Places), uint64(j.Places)), report.Count(x.Least))
	}
	return t
}

// write prints the description of a sample profile.
func (j *sampleProfileJSON) write(s *verb.Streams, json bool, style report.Style) error {
	if json {
		return report.WriteJSON(s.Out, j)
	}
	if err := j.table().Write(s.Out, style); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.Out); err != nil {
		return err
	}
	return j.shareTable().Write(s.Out, style)
}
