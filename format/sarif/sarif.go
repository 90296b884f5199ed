// Package sarif writes results in the format SARIF 2.1.0, which GitHub's code scanning, Azure DevOps
// and editors show in the source. It is pure.
//
// The format is the OASIS standard
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. A log has one run of one tool, the
// rules of the tool, and results, each of one rule at places of the source:
//
//	{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{
//	"tool":{"driver":{"name":"cairn","version":"v1.0.0","informationUri":"...","rules":[
//	{"id":"function-not-run","shortDescription":{"text":"..."}}]}},
//	"results":[
//	{"ruleId":"function-not-run","ruleIndex":0,"level":"note","message":{"text":"..."},
//	"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a.c"},"region":{"startLine":3,"endLine":4}},
//	"logicalLocations":[{"name":"f","kind":"function"}]}],
//	"stacks":[{"message":{"text":"..."},"frames":[...]}],
//	"partialFingerprints":{"cairn/v1":"..."}}
//	]}]}
//
// File names become URIs: relative ones below the root of the sources, and absolute ones with the
// scheme file. Results are written one at a time.
package sarif

import (
	"bufio"
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// Schema is the address of the schema that logs name.
const Schema = "https://json.schemastore.org/sarif-2.1.0.json"

// Level is how serious a result is.
type Level string

// The levels of the format.
const (
	Note    Level = "note"
	Warning Level = "warning"
	Error   Level = "error"
)

// Tool is the program whose results they are.
type Tool struct {
	Name, Version, URL string
	Rules              []Rule
}

// Rule is a kind of result.
type Rule struct {
	ID, Short, Full string
}

// Place is a place in the source. What is not known is zero.
type Place struct {
	File     string
	From, To int // lines
	Function string
}

// Stack is a stack of calls, innermost first.
type Stack struct {
	Text   string
	Frames []Place
}

// Result is a finding.
type Result struct {
	Rule        int // index of the tool's rules
	Level       Level
	Text        string
	Places      []Place
	Stacks      []Stack
	Fingerprint string // the same for the same finding in other runs; "" for none
}

type text struct {
	Text string `json:"text"`
}

type rule struct {
	ID    string `json:"id"`
	Short text   `json:"shortDescription"`
	Full  *text  `json:"fullDescription,omitempty"`
}

type tool struct {
	Driver struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		URL     string `json:"informationUri,omitempty"`
		Rules   []rule `json:"rules"`
	} `json:"driver"`
}

type artifact struct {
	URI string `json:"uri"`
}

type region struct {
	Start int `json:"startLine"`
	End   int `json:"endLine,omitempty"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type logical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type location struct {
	Physical *physical `json:"physicalLocation,omitempty"`
	Logical  []logical `json:"logicalLocations,omitempty"`
}

type frame struct {
	Location location `json:"location"`
}

type stack struct {
	Message *text   `json:"message,omitempty"`
	Frames  []frame `json:"frames"`
}

type result struct {
	RuleID    string            `json:"ruleId"`
	RuleIndex int               `json:"ruleIndex"`
	Level     Level             `json:"level"`
	Message   text              `json:"message"`
	Locations []location        `json:"locations,omitempty"`
	Stacks    []stack           `json:"stacks,omitempty"`
	Prints    map[string]string `json:"partialFingerprints,omitempty"`
}

// Writer writes a log.
type Writer struct {
	w     *bufio.Writer
	tool  *Tool
	begun bool
	err   error
}

// NewWriter begins a log. Close must follow the results.
func NewWriter(w io.Writer, t *Tool) *Writer {
	x := &Writer{w: bufio.NewWriter(w), tool: t}
	var out tool
	d := &out.Driver
	d.Name, d.Version, d.URL, d.Rules = t.Name, t.Version, t.URL, []rule{}
	for _, r := range t.Rules {
		j := rule{ID: r.ID, Short: text{r.Short}}
		if r.Full != "" {
			j.Full = &text{r.Full}
		}
		d.Rules = append(d.Rules, j)
	}
	x.w.WriteString(`{"$schema":"` + Schema + `","version":"2.1.0","runs":[{"tool":`)
	x.encode(out)
	x.w.WriteString(`,"results":[`)
	return x
}

func (x *Writer) encode(v any) {
	b, err := json.Marshal(v)
	if err != nil && x.err == nil {
		x.err = err
	}
	x.w.Write(b) // bufio keeps the error
}

// Write writes a result.
func (x *Writer) Write(r *Result) error {
	out := result{RuleID: x.tool.Rules[r.Rule].ID, RuleIndex: r.Rule, Level: r.Level, Message: text{r.Text}}
	for i := range r.Places {
		out.Locations = append(out.Locations, r.Places[i].location())
	}
	for _, s := range r.Stacks {
		j := stack{Frames: []frame{}}
		if s.Text != "" {
			j.Message = &text{s.Text}
		}
		for i := range s.Frames {
			j.Frames = append(j.Frames, frame{s.Frames[i].location()})
		}
		out.Stacks = append(out.Stacks, j)
	}
	if r.Fingerprint != "" {
		out.Prints = map[string]string{"cairn/v1": r.Fingerprint}
	}
	if x.begun {
		x.w.WriteByte(',')
	}
	x.begun = true
	x.w.WriteByte('\n')
	x.encode(out)
	return x.err
}

// Close ends the log.
func (x *Writer) Close() error {
	x.w.WriteString("\n]}]}\n")
	if err := x.w.Flush(); err != nil {
		return err
	}
	return x.err
}

func (p *Place) location() (l location) {
	if p.File != "" {
		l.Physical = &physical{Artifact: artifact{uri(p.File)}}
		if p.From > 0 {
			l.Physical.Region = &region{p.From, max(p.From, p.To)}
		}
	}
	if p.Function != "" {
		l.Logical = []logical{{p.Function, "function"}}
	}
	return l
}

// uri returns the URI of a file.
func uri(path string) string {
	u := url.URL{Path: strings.ToValidUTF8(path, "\uFFFD")}
	if strings.HasPrefix(path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}
