package samples

import (
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
)

// explanation is the output of --explain.
type explanation struct {
	Pairs []explainedPair `json:"pairs"`
}

// explainedPair is a call and the next entry of stacks, with the missing frames.
type explainedPair struct {
	Count      uint64       `json:"count"`
	Rule       string       `json:"rule"`
	Call       codePlace    `json:"call"`
	Callees    []string     `json:"callees"`
	Next       string       `json:"next"`
	Missing    []codePlace  `json:"missing"` // jumps, in their order
	Candidates []codePlaces `json:"candidates,omitempty"`
}

// codePlace is an instruction and the function that it is in.
type codePlace struct {
	Function string `json:"function"`
	Address  uint64 `json:"address"`
}

type codePlaces []codePlace

// newExplanation lists calls and the frames that are missing after them.
func newExplanation(r *pipeline.Result) explanation {
	place := func(x machinecode.Ref) codePlace { return codePlace{r.Graph.Name(x), r.Code.Address(x)} }
	places := func(refs []machinecode.Ref) codePlaces {
		out := codePlaces{}
		for _, x := range refs {
			out = append(out, place(x))
		}
		return out
	}
	doc := explanation{Pairs: []explainedPair{}}
	for _, p := range r.Missing {
		x := explainedPair{
			Count: p.Count, Rule: p.Rule, Call: place(p.Call), Callees: r.Graph.Callees(p.Call), Next: p.Next, Missing: places(p.Jumps),
		}
		for _, c := range p.Candidates {
			x.Candidates = append(x.Candidates, places(c))
		}
		doc.Pairs = append(doc.Pairs, x)
	}
	return doc
}

func (d explanation) json(w io.Writer) error { return report.WriteJSON(w, d) }

// table writes a table, with the candidates of ambiguous pairs below theirs.
func (d explanation) table(w io.Writer) error {
	t := report.NewTable(">COUNT", "RULE", "CALL", "OF", "MISSING", "NEXT")
	var names report.Names
	for _, p := range d.Pairs {
		callees := make([]string, len(p.Callees))
		for i, c := range p.Callees {
			callees[i] = names.Show(c)
		}
		t.Row(report.Count(p.Count), p.Rule, p.Call.show(&names), strings.Join(callees, " or "), codePlaces(p.Missing).show(&names), names.Show(p.Next))
		for _, c := range p.Candidates {
			t.Row("", "  or", "", "", c.show(&names), "")
		}
	}
	return t.Write(w, report.Style{})
}

func (p codePlace) show(names *report.Names) string {
	return fmt.Sprintf("%s:%#x", names.Show(p.Function), p.Address)
}

func (p codePlaces) show(names *report.Names) string {
	out := make([]string, len(p))
	for i := range p {
		out[i] = p[i].show(names)
	}
	return strings.Join(out, " > ")
}
