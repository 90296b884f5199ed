package samples

import (
	"context"
	"io"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// write writes the result.
func (f *profgenFlags) write(s *verb.Streams, product pipeline.Product, made *pipeline.Result) error {
	fill, err := f.writer(s, product, made)
	if err != nil {
		return err
	}
	return verb.WriteFile(s, f.out, fill)
}

// send sends the stacks to profile stores.
func (f *profgenFlags) send(ctx context.Context, s *verb.Streams, made *pipeline.Result) error {
	w := stackWriter{sampleset.NewStacks(made, f.names.Names())}
	p, err := w.asPprof()
	if err != nil {
		return err
	}
	name, buildID := w.program()
	return f.stores.Send(ctx, s, p, name, buildID)
}

// writer returns a function that writes a product in the requested format.
func (f *profgenFlags) writer(s *verb.Streams, product pipeline.Product, made *pipeline.Result) (func(io.Writer) error, error) {
	switch product {
	case pipeline.Addresses:
		return func(w io.Writer) error { return unsymbolized.Write(w, made.Addresses) }, nil
	case pipeline.Explanation:
		if doc := newExplanation(made); f.json {
			return doc.json, nil
		} else {
			return doc.table, nil
		}
	case pipeline.Stacks:
		return f.ofStacks(s, made)
	case pipeline.Calls:
		return f.ofCalls(s, made.Calls), nil
	case pipeline.Branches:
		return f.ofBranches(made.Branches)
	case pipeline.Executions:
		return f.ofExecutions(s, made)
	}
	switch f.format {
	case formatExtBinary:
		return made.Profile.WriteExtBinary, nil
	case formatGCC:
		return made.Profile.WriteGcov, nil
	}
	return made.Profile.Write, nil
}

// ofBranches returns a function that writes branches for llvm-bolt.
func (f *profgenFlags) ofBranches(branches []sample.BranchCount) (func(io.Writer) error, error) {
	bin, err := objfile.Open(f.binaries[0])
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	symbols, err := verb.BoltSymbols(bin)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return fdata.WriteBranches(w, export.BoltSamples(branches, symbols)) }, nil
}
