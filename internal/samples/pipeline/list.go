package pipeline

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/binary/asmtext"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/listing"
)

// Listing selects how the code of binaries is printed.
type Listing struct {
	Syntax    asmtext.Syntax
	Functions []string // only these; all if there is none
	Canonical bool     // without the suffixes that compilers append
	Probes    bool     // pseudo probes are printed
	Source    bool     // source locations are printed
}

// List prints the code of the binaries of a plan, instead of processing samples.
func List(p *Plan, host Host, o Listing, w io.Writer) error {
	r := run{Plan: p, Host: host}
	open, err := r.openBinaries()
	defer closeAll(open)
	if err != nil {
		return err
	}
	for _, f := range open {
		if err := r.list(f, o, w); err != nil {
			return err
		}
	}
	return nil
}

// list prints the code of one binary.
func (r run) list(f *objfile.File, o Listing, w io.Writer) error {
	p, err := f.Program()
	if err != nil {
		return err
	}
	opt := listing.Options{Syntax: o.Syntax, Functions: o.Functions, Canonical: o.Canonical}
	if o.Probes {
		if opt.Probes, err = listing.ReadProbes(p, o.Functions); err != nil {
			return err
		}
	}
	if o.Source {
		if opt.Source, err = sourceOf(f); err != nil {
			return err
		}
		opt.Source.Probes = o.Probes
	}
	count, err := listing.Write(w, p, opt)
	if err != nil {
		return err
	}
	if len(p.Symbols) == 0 {
		r.Note("%s: no symbols, and code is listed from symbol to symbol (it is stripped: give the unstripped binary)", f.Path())
	}
	if count.Invalid > 0 {
		r.Note("%s: no instruction at %s of code: data, or code for a newer processor", f.Path(), report.Plural(count.Invalid, "place"))
	}
	if count.AsBytes > 0 {
		r.Note("%s: instructions without a known name, printed as bytes: %s of %s", f.Path(), report.Count(count.AsBytes), report.Count(count.Instructions))
	}
	return nil
}

// sourceOf reads source locations from debug information, if there is any.
func sourceOf(f *objfile.File) (*listing.Source, error) {
	var s listing.Source
	var err error
	if s.Lines, err = f.Lines(); err != nil && !noDebug(err) {
		return nil, fmt.Errorf("lines: %w", err)
	}
	if s.Scopes, err = f.Scopes(); err != nil && !noDebug(err) {
		return nil, err
	}
	return &s, nil
}
