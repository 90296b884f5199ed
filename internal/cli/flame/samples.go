package flame

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/cli/samples"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/stackfile"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// checkSampled rejects flags that do not apply to samples.
func (f *flameFlags) checkSampled() error {
	switch {
	case f.by == string(flamegraph.ByCalls):
		return verb.Usagef("--by calls: samples do not count calls")
	case f.perThread:
		return verb.Usagef("--per-thread: not supported for samples")
	}
	return nil
}

// ofSamples returns the stacks of samples from perf or cairn record.
func (f *flameFlags) ofSamples(ctx context.Context, s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	infer, err := samples.ParseInference(f.infer)
	if err != nil {
		return nil, err
	}
	if err := f.checkSampled(); err != nil {
		return nil, err
	}
	made, err := samples.Run(ctx, s, &pipeline.Plan{Product: pipeline.Stacks, Samples: args, Binaries: f.binaries, Tables: f.tables, Everywhere: f.tables != nil, Infer: infer, Kernel: pipeline.KernelFrames(f.kernel)})
	if err != nil {
		return nil, err
	}
	doc := samples.Drawing(made, f.names.Names())
	f.marked = func(id calllog.FuncID) string { return markedAs(doc.Name(id), doc.Kind(id)) }
	return doc, f.chooseSampled(doc, filter, made.Stacks.Funcs.Name)
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
func (f *flameFlags) chooseSampled(doc *flamegraph.Profile, filter verb.NameFilter, symbol func(calllog.FuncID) string) error {
	f.choose(doc, func(id calllog.FuncID) bool { return filter.Match(symbol(id)) })
	if doc.Groups == nil && f.regexp != "" {
		return fmt.Errorf("%s: no stack has a function that matches %s", doc.Title, f.regexp)
	}
	return nil
}

// sampled reports whether a file has samples. Standard input and pipes cannot be read twice.
func sampled(path string) bool {
	if st, err := os.Stat(path); path == logfile.Stdin || err != nil || !st.Mode().IsRegular() {
		return false
	}
	in, err := logfile.OpenStream(path, nil)
	if err != nil {
		return false // an error shows again
	}
	defer in.Close()
	return samplefile.Detect(in.Peek(samplefile.HeadSize))
}

// namedInput reports whether an input has stacks with names. The part of standard input that was read is included in
// the returned streams again. Other pipes are assumed to be logs.
func namedInput(s *verb.Streams, path string) (*verb.Streams, bool) {
	var stdin io.Reader
	if path == logfile.Stdin {
		in := bufio.NewReaderSize(s.In, stackfile.HeadSize)
		head, _ := in.Peek(stackfile.HeadSize)
		s, stdin = &verb.Streams{In: in, Out: s.Out, Err: s.Err}, bytes.NewReader(head)
	} else if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return s, false
	}
	in, err := logfile.OpenStream(path, stdin)
	if err != nil {
		return s, false
	}
	defer in.Close()
	head := make([]byte, stackfile.HeadSize)
	n, _ := io.ReadFull(in, head) // an error shows again
	return s, stackfile.Detect(head[:n])
}
