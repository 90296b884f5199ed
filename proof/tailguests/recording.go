package tailguests

import (
	"errors"
	"io"
	"os"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/proof/tailtest"
	"github.com/cairnprof/cairn/sample"
)

// Run is a recording with open files.
type Run struct {
	tailtest.Recording
	samples, truth *os.File
}

// Open opens the output of cairn record --lbr for a program: samples and true stacks. Calls
// are identified as in a profile: by pseudo probes, or by lines if there are none.
func Open(program, samples, truth string, probed bool) (*Run, error) {
	r := &Run{}
	var err error
	if r.Code, r.Place, err = load(program, probed); err != nil {
		return nil, err
	}
	if r.samples, err = os.Open(samples); err != nil {
		return nil, err
	}
	if r.truth, err = os.Open(truth); err != nil {
		return nil, errors.Join(err, r.samples.Close())
	}
	r.Samples = func() (sample.Source, error) {
		_, err := r.samples.Seek(0, io.SeekStart)
		if err != nil {
			return nil, err
		}
		return perfscript.Open(r.samples, samples, 0)
	}
	r.Truth = func() (io.Reader, error) {
		_, err := r.truth.Seek(0, io.SeekStart)
		return r.truth, err
	}
	return r, nil
}

// Close closes the files.
func (r *Run) Close() error { return errors.Join(r.samples.Close(), r.truth.Close()) }

// load reads a program, and the function that identifies its calls.
func load(program string, probed bool) (*machinecode.Set, func(machinecode.Ref) uint64, error) {
	f, err := objfile.Open(program)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	p, err := f.Program()
	if err != nil {
		return nil, nil, err
	}
	code, err := machinecode.NewSet(p)
	if err != nil {
		return nil, nil, err
	}
	if probed {
		table, err := profgen.ReadProbes(code, []*objfile.Program{p}, nil)
		if err != nil {
			return nil, nil, err
		}
		return code, table.Place, nil
	}
	var info profgen.DebugInfo
	if info.Lines, err = f.Lines(); err != nil {
		return nil, nil, err
	}
	if info.Scopes, err = f.Scopes(); err != nil {
		return nil, nil, err
	}
	return code, profgen.NewLines(code, []profgen.DebugInfo{info}).Place, nil
}
