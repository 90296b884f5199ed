package mip

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/cairnprof/cairn/prof"
)

// textVersion is the version of the text form.
const textVersion = 1

// The text form is the YAML of these structs, with addresses and offsets in hexadecimal. Zero fields are left
// out.
type (
	textProfile struct {
		Cairn   string       `yaml:"cairn"` // "profile"
		Version int          `yaml:"version"`
		Modules []textModule `yaml:"modules,omitempty"`
	}
	textModule struct {
		Module    text       `yaml:"module"`
		BuildID   text       `yaml:"build_id"`
		RawAddr   hexNumber  `yaml:"raw_addr"`
		RawSize   uint64     `yaml:"raw_size"`
		Machine   text       `yaml:"machine,omitempty"`
		Raws      uint64     `yaml:"raws"`
		Functions []textFunc `yaml:"functions,omitempty"`

		TracesSeen uint64      `yaml:"traces_seen,omitempty"`
		Traces     []textTrace `yaml:"traces,omitempty"`

		Held       []hexNumber `yaml:"runs_held,omitempty,flow"`
		HeldSketch bool        `yaml:"runs_sketch,omitempty"` // they are cut short

		Absent []textAbsent `yaml:"absent,omitempty"`
	}
	textTrace struct {
		Scenario  text      `yaml:"scenario"`
		Weight    uint64    `yaml:"weight"`
		Key       hexNumber `yaml:"key"`
		Cut       bool      `yaml:"cut,omitempty"`
		Functions []uint32  `yaml:"functions,flow"` // numbers of functions above, from 0
	}
	textFunc struct {
		Name      text           `yaml:"name"`
		File      text           `yaml:"file,omitempty"`
		Mode      string         `yaml:"mode"`
		Atomic    bool           `yaml:"atomic,omitempty"`
		Plain     bool           `yaml:"plain,omitempty"` // compiled without optimisation
		Signature hexNumber      `yaml:"signature"`
		Record    hexNumber      `yaml:"record"`
		Code      []textFragment `yaml:"code"`
		Implied   []textImplied  `yaml:"implied,omitempty"`
		Flow      []textFlow     `yaml:"flow,omitempty"` // of each block, the entry block first
		Calls     []textCall     `yaml:"calls,omitempty"`

		Runs      uint64     `yaml:"runs"`
		Count     uint64     `yaml:"count,omitempty"` // of calls
		OrderSum  uint64     `yaml:"order_sum,omitempty"`
		Inexact   bool       `yaml:"inexact,omitempty"`
		BlockRuns []uint64   `yaml:"block_runs,omitempty,flow"`
		Times     []uint64   `yaml:"times,omitempty,flow"` // executions of non-entry blocks
		Callers   []textSite `yaml:"callers,omitempty"`
		Unprobed  uint64     `yaml:"unprobed,omitempty"` // raw files of builds without its probe
	}
	textFragment struct {
		Addr   hexNumber   `yaml:"addr"`
		Size   uint32      `yaml:"size"`
		Blocks []hexNumber `yaml:"blocks,omitempty,flow"`
	}
	textImplied struct {
		Block uint32   `yaml:"block"`
		By    []uint32 `yaml:"by,omitempty,flow"`
	}
	textFlow struct {
		Next    []uint32 `yaml:"next,flow"`
		Entered bool     `yaml:"entered,omitempty"`
		Leaves  bool     `yaml:"leaves,omitempty"`
	}
	textCall struct {
		Block  uint32 `yaml:"block"`
		Callee text   `yaml:"callee"`
	}
	textSite struct {
		Addr hexNumber `yaml:"addr"`
		Runs uint64    `yaml:"runs"`
	}
)

// hexNumber is a number that is written in hexadecimal.
type hexNumber uint64

func (h hexNumber) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprintf("%#x", uint64(h))}, nil
}

// text is a string that the YAML library would not always restore: it treats some control characters as line
// ends or white space. Strings other than plain ASCII are written in double quotes, bytes that are not UTF-8 as
// !!binary.
type text string

func (s text) MarshalYAML() (any, error) {
	if !utf8.ValidString(string(s)) {
		return string(s), nil
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(s)}
	if strings.ContainsFunc(string(s), func(r rune) bool { return r < ' ' || r > '~' }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node, nil
}

// WriteText writes p as YAML, one line per item. Equal profiles give equal text.
func WriteText(w io.Writer, p *prof.Profile) error {
	if err := checkProfile(p); err != nil {
		return fmt.Errorf("writing text: %w", err)
	}
	t := textProfile{Cairn: "profile", Version: textVersion}
	for i := range p.Modules {
		t.Modules = append(t.Modules, textOf(&p.Modules[i]))
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&t); err != nil {
		return err
	}
	return e.Close()
}

// ReadText reads the output of WriteText, possibly edited.
func ReadText(data []byte) (*prof.Profile, error) {
	if len(data) > MaxTextSize {
		return nil, fmt.Errorf("text of %d bytes, at most %d are allowed", len(data), MaxTextSize)
	}
	t, err := decodeText(data)
	if err != nil {
		// The library's errors have a line for each problem.
		first, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:\n  "), "\n")
		return nil, fmt.Errorf("not the text of a profile: %s", first)
	}
	switch {
	case t.Cairn != "profile":
		return nil, fmt.Errorf("not the text of a profile, which starts with cairn: profile: %w", ErrMagic)
	case t.Version > textVersion:
		return nil, fmt.Errorf("text of version %d: %w", t.Version, ErrNewer)
	case t.Version != textVersion:
		return nil, fmt.Errorf("text of version %d, it should be %d", t.Version, textVersion)
	}
	p := new(prof.Profile)
	for i := range t.Modules {
		m, err := t.Modules[i].module()
		if err != nil {
			return nil, err
		}
		p.Modules = append(p.Modules, m)
	}
	if err := checkProfile(p); err != nil {
		return nil, fmt.Errorf("damaged text: %w", err)
	}
	return p, nil
}

// decodeText decodes data with the library, which bounds nesting and aliases. Its panics are returned as
// errors.
func decodeText(data []byte) (t textProfile, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid YAML: %v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&t); err != nil {
		return t, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return t, errors.New("more than one document")
	}
	return t, nil
}

func textOf(m *prof.Module) textModule {
	t := textModule{
		Module: text(m.Module), BuildID: text(m.BuildID.String()),
		RawAddr: hexNumber(m.RawAddr), RawSize: m.RawSize, Machine: text(m.Machine), Raws: m.Raws, TracesSeen: m.TracesSeen,
		Held: convert[hexNumber](m.Held.IDs), HeldSketch: m.Held.Sketch, Absent: textOfAbsent(m.Absent),
	}
	for i := range m.Traces {
		tr := &m.Traces[i]
		t.Traces = append(t.Traces, textTrace{text(tr.Scenario), tr.Weight, hexNumber(tr.Key), tr.Cut, tr.Funcs})
	}
	for i := range m.Funcs {
		f, c := &m.Funcs[i], &m.Counts[i]
		tf := textFunc{
			Name: text(f.Name), File: text(f.File), Mode: f.Mode.String(), Atomic: f.Atomic, Plain: f.Plain,
			Signature: hexNumber(f.Signature), Record: hexNumber(f.Record),
			Runs: c.Runs, Count: c.Calls, OrderSum: c.OrderSum, Inexact: c.Inexact, Unprobed: c.Unprobed,
		}
		for k := range f.Fragments {
			fr := &f.Fragments[k]
			tf.Code = append(tf.Code, textFragment{Addr: hexNumber(fr.Addr), Size: fr.Size, Blocks: convert[hexNumber](fr.Blocks)})
		}
		for _, im := range f.Implied {
			tf.Implied = append(tf.Implied, textImplied{im.Block, im.By})
		}
		for i := range f.Flow {
			flow := &f.Flow[i]
			tf.Flow = append(tf.Flow, textFlow{flow.Next, flow.Entered, flow.Leaves})
		}
		for _, call := range f.Calls {
			tf.Calls = append(tf.Calls, textCall{Block: call.Block, Callee: text(call.Callee)})
		}
		if anyCount(c.Blocks) {
			tf.BlockRuns = c.Blocks
		}
		if anyCount(c.Times) {
			tf.Times = c.Times
		}
		for _, s := range c.Callers {
			tf.Callers = append(tf.Callers, textSite{Addr: hexNumber(s.Addr), Runs: s.Runs})
		}
		t.Functions = append(t.Functions, tf)
	}
	return t
}

func (t *textModule) module() (m prof.Module, err error) {
	if m.BuildID, err = parseBuildID(string(t.BuildID)); err != nil {
		return m, fmt.Errorf("module %q: %w", t.Module, err)
	}
	m.Module, m.RawAddr, m.RawSize, m.Raws = string(t.Module), uint64(t.RawAddr), t.RawSize, t.Raws
	m.Machine = string(t.Machine)
	if len(t.Functions) > 0 {
		m.Funcs = make([]prof.Func, len(t.Functions))
	}
	m.Counts = make([]prof.Counts, len(t.Functions))
	for i := range t.Functions {
		if err := t.Functions[i].function(&m.Funcs[i], &m.Counts[i]); err != nil {
			return m, fmt.Errorf("module %q, function %q: %w", t.Module, t.Functions[i].Name, err)
		}
	}
	if m.Absent, err = absentOf(t.Absent); err != nil {
		return m, fmt.Errorf("module %q: %w", t.Module, err)
	}
	m.TracesSeen = t.TracesSeen
	m.Held = prof.RunSet{IDs: convert[uint64](t.Held), Sketch: t.HeldSketch}
	for _, tr := range t.Traces {
		funcs := tr.Functions
		if len(funcs) == 0 {
			funcs = nil
		}
		m.Traces = append(m.Traces, prof.Trace{Scenario: string(tr.Scenario), Weight: tr.Weight, Key: uint64(tr.Key), Cut: tr.Cut, Funcs: funcs})
	}
	return m, nil
}

func (t *textFunc) function(f *prof.Func, c *prof.Counts) error {
	mode, ok := prof.ParseMode(t.Mode)
	if !ok {
		return fmt.Errorf("mode %q is unknown", t.Mode)
	}
	if t.Signature != hexNumber(uint32(t.Signature)) {
		return fmt.Errorf("signature %#x does not fit into 32 bits", uint64(t.Signature))
	}
	*f = prof.Func{
		Name: string(t.Name), File: string(t.File), Mode: mode, Atomic: t.Atomic, Plain: t.Plain,
		Signature: uint32(t.Signature), Record: uint64(t.Record),
	}
	for _, fr := range t.Code {
		for _, off := range fr.Blocks {
			if off > hexNumber(fr.Size) {
				return fmt.Errorf("a block at %#x in %d bytes of code", uint64(off), fr.Size)
			}
		}
		f.Fragments = append(f.Fragments, prof.Fragment{Addr: uint64(fr.Addr), Size: fr.Size, Blocks: convert[uint32](fr.Blocks)})
	}
	for _, im := range t.Implied {
		f.Implied = append(f.Implied, prof.Implied{Block: im.Block, By: convert[uint32](im.By)})
	}
	for i := range t.Flow {
		flow := &t.Flow[i]
		f.Flow = append(f.Flow, prof.Flow{Next: convert[uint32](flow.Next), Entered: flow.Entered, Leaves: flow.Leaves})
	}
	for _, call := range t.Calls {
		f.Calls = append(f.Calls, prof.Call{Block: call.Block, Callee: string(call.Callee)})
	}
	*c = prof.Counts{Runs: t.Runs, Calls: t.Count, OrderSum: t.OrderSum, Inexact: t.Inexact, Unprobed: t.Unprobed, Blocks: t.BlockRuns, Times: t.Times}
	if blocks := f.NumBlocks() - 1; len(c.Blocks) == 0 && blocks > 0 && mode.HasBlocks() {
		c.Blocks = make([]uint64, blocks)
	}
	if blocks := f.NumBlocks() - 1; len(c.Times) == 0 && blocks > 0 && mode.HasEdges() {
		c.Times = make([]uint64, blocks)
	}
	for _, s := range t.Callers {
		c.Callers = append(c.Callers, prof.Site{Addr: uint64(s.Addr), Runs: s.Runs})
	}
	return nil
}

// convert returns a slice of other numbers, nil for none.
func convert[To, From ~uint32 | ~uint64](from []From) []To {
	if len(from) == 0 {
		return nil
	}
	to := make([]To, len(from))
	for i, v := range from {
		to[i] = To(v)
	}
	return to
}

func parseBuildID(s string) (prof.BuildID, error) {
	id, err := hex.DecodeString(s)
	if err != nil {
		return "", fmt.Errorf("build id %q is not hexadecimal", s)
	}
	return prof.BuildID(id), nil
}
