package flamefile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/perfdata"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/stackfile"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// expandSampled replaces a directory without logs by the samples below it, or else the stacks.
func expandSampled(args []string) ([]string, error) {
	if !verb.IsDir(args[0]) || logset.HoldsLogs(args[0]) {
		return args, nil
	}
	paths, err := samplefile.Expand(args)
	if none := (*logfile.NoneError)(nil); errors.As(err, &none) {
		stacks, err := logfile.ExpandDirs(args, "stacks", stackfile.Detect)
		if errors.As(err, &none) {
			return args, nil // reading logs says what is there instead
		}
		return stacks, err
	}
	return paths, err
}

// checkSampled rejects flags that do not apply to samples.
func (f *Choice) checkSampled() error {
	switch {
	case f.By == string(flamegraph.ByCalls):
		return verb.Usagef("--by calls: samples do not count calls")
	case f.PerThread:
		return verb.Usagef("--per-thread: not supported for samples")
	}
	return nil
}

// ofSamples returns the stacks of samples from perf or cairn record.
func (f *Choice) ofSamples(ctx context.Context, s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	infer, err := sampleset.ParseInference(f.Infer)
	if err != nil {
		return nil, err
	}
	if err := f.checkSampled(); err != nil {
		return nil, err
	}
	if s, err = withoutNames(s, args[0], f.tables == nil); err != nil {
		return nil, err
	}
	made, err := sampleset.Run(ctx, s, &pipeline.Plan{
		Product:   pipeline.Stacks,
		Inputs:    pipeline.Inputs{Samples: args, Binaries: f.Binaries, Tables: f.tables, Kept: f.kept},
		Unwinding: pipeline.Unwinding{Everywhere: f.tables != nil, Infer: infer, Kernel: pipeline.KernelFrames(f.Kernel)},
	})
	if err != nil {
		return nil, err
	}
	doc := sampleset.NewStacks(made, f.Names.Names()).Drawing()
	f.marked = func(id calllog.FuncID) string { return markedAs(doc.Name(id), doc.Kind(id)) }
	return doc, f.chooseSampled(doc, filter, made.Stacks.Funcs.Name)
}

// withoutNames returns an error if a program was given with stacks that have names.
func withoutNames(s *verb.Streams, path string, given bool) (*verb.Streams, error) {
	if !given {
		return s, nil
	}
	s, head := peek(s, path)
	if kind.Of(head) == kind.Stacks {
		return nil, verb.Usagef("%s has stacks with names, which are drawn without a program", path)
	}
	return s, nil
}

// markedAs returns a name that is shown, as flame graph tools know functions of the kernel and inlined ones.
func markedAs(name string, kind flamegraph.Kind) string {
	switch kind {
	case flamegraph.Kernel:
		return strings.TrimSuffix(name, profgen.KernelSuffix) + foldedMark[sample.KernelFrame]
	case flamegraph.Inlined:
		return strings.TrimSuffix(name, profgen.InlinedSuffix) + foldedMark[sample.InlinedFrame]
	}
	return name
}

// chooseSampled keeps the selected stacks, and returns an error if there are none.
func (f *Choice) chooseSampled(doc *flamegraph.Profile, filter verb.NameFilter, symbol func(calllog.FuncID) string) error {
	f.choose(doc, func(id calllog.FuncID) bool { return filter.Match(symbol(id)) })
	if doc.Groups == nil && f.Regexp != "" {
		return fmt.Errorf("%s: no stack has a function that matches %s", doc.Title, f.Regexp)
	}
	return nil
}

// headSize is the number of bytes by which an input of either kind is recognised.
const headSize = max(stackfile.HeadSize, samplefile.HeadSize)

// peek returns the beginning of an input, decompressed, nil if it cannot be read: the error shows again. The part of
// standard input that was read is included in the returned streams again. Other pipes are assumed to be logs.
func peek(s *verb.Streams, path string) (*verb.Streams, []byte) {
	var stdin io.Reader
	if path == logfile.Stdin {
		in := bufio.NewReaderSize(s.In, headSize)
		head, _ := in.Peek(headSize)
		s, stdin = &verb.Streams{In: in, Out: s.Out, Err: s.Err}, bytes.NewReader(head)
	} else if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return s, nil
	}
	in, err := logfile.OpenStream(path, stdin)
	if err != nil {
		return s, nil
	}
	defer in.Close()
	if head := in.Peek(samplefile.HeadSize); perfdata.Detect(head) {
		return s, head // the first bytes are enough
	}
	head := make([]byte, headSize)
	n, _ := io.ReadFull(in, head)
	return s, head[:n]
}
