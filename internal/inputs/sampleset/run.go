// Package sampleset runs the conversion of samples with the files of this machine: it finds the binaries that samples are
// in, and the symbols of the kernel.
package sampleset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/verb"
)

// Run runs a plan, and shows how far it is.
func Run(ctx context.Context, s *verb.Streams, p *pipeline.Plan) (*pipeline.Result, error) {
	verb.CollectSeldom()
	made, err := pipeline.Run(ctx, p, Host(s))
	return made, OtherKind(err)
}

// Host is the command as pipelines know it.
func Host(s *verb.Streams) pipeline.Host {
	return pipeline.Host{
		In:       s.In,
		Note:     func(format string, args ...any) { verb.Note(s, format, args...) },
		Kernel:   openKernel,
		Progress: func(done *atomic.Int64, of int) func() { return verb.StartProgress(s, "MB", done, of) },
	}
}

// OtherKind returns an error with the kind of a file without samples.
func OtherKind(err error) error {
	if unknown := (*samplefile.UnknownError)(nil); errors.As(err, &unknown) && !unsymbolized.Detect(unknown.Head) && unknown.Unreadable() == nil {
		return fmt.Errorf("%w: it is %v", err, kind.Of(unknown.Head))
	}
	return err
}

// ParseInference parses --infer-missing-frames, including llvm-profgen's values.
func ParseInference(text string) (pipeline.Inference, error) {
	switch how := pipeline.Inference(text); {
	case slices.Contains(pipeline.Inferences, how):
		return how, nil
	case text == "1", text == "true":
		return pipeline.InferFull, nil
	case text == "0", text == "false":
		return pipeline.InferNone, nil
	}
	return "", verb.Usagef("--infer-missing-frames %s: use full, llvm or none", text)
}
