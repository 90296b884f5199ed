// Package sampleset runs the conversion of samples with the files of this machine: it finds the binaries that samples are
// in, and the symbols of the kernel.
package sampleset

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
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

// openKernel opens the list of the running kernel's symbols, and returns the kernel's build id.
func openKernel() (io.ReadCloser, string, error) {
	notes, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		return nil, "", fmt.Errorf("reading the build id of the running kernel: %w", err)
	}
	id := kernelID(notes)
	if id == "" {
		return nil, "", errors.New("/sys/kernel/notes has no build id")
	}
	list, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, "", fmt.Errorf("reading the symbols of the kernel: %w", err)
	}
	return list, id, nil
}

// kernelID returns the build id among notes of ELF, "" if there is none.
func kernelID(notes []byte) string {
	const header, buildID = 12, 3
	padded := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(notes) >= header {
		nameSize, size, kind := binary.NativeEndian.Uint32(notes), binary.NativeEndian.Uint32(notes[4:]), binary.NativeEndian.Uint32(notes[8:])
		begin := header + padded(nameSize)
		end := begin + padded(size)
		if end > uint64(len(notes)) {
			return ""
		}
		if kind == buildID && string(notes[header:header+uint64(nameSize)]) == "GNU\x00" {
			return hex.EncodeToString(notes[begin : begin+uint64(size)])
		}
		notes = notes[end:]
	}
	return ""
}
