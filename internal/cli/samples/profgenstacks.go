package samples

import (
	"io"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/verb"
)

// ofStacks returns a function that writes the stacks of samples.
func (f *profgenFlags) ofStacks(s *verb.Streams, r *pipeline.Result) (func(io.Writer) error, error) {
	w := stackWriter{sampleset.NewStacks(r, f.names.Names())}
	switch f.format {
	case formatFolded:
		return w.folded, nil
	case formatPprof:
		return w.pprof, verb.NotOnTerminal(s, f.out, "pprof", "-o")
	case formatOTLP:
		return w.otlp, verb.NotOnTerminal(s, f.out, "otlp", "-o")
	}
	return func(out io.Writer) error {
		_, err := single.Flame(out, w.Drawing(), flamegraph.Options{})
		return err
	}, nil
}

// stackWriter writes stacks that were sampled.
type stackWriter struct{ sampleset.Stacks }

func (w stackWriter) folded(out io.Writer) error {
	lines := folded.NewWriter(out)
	var names []string
	shown := map[calllog.FuncID]string{} // to show a name takes longer than to write it
	err := export.EachStack(w.Merged(), export.MaxFrames, func(stack []calllog.FuncID, n *calltrie.Node) error {
		names = names[:0]
		for _, fn := range stack {
			name, ok := shown[fn]
			if !ok {
				name = w.Name(fn)
				shown[fn] = name
			}
			names = append(names, name)
		}
		return lines.Write(names, n.Self)
	})
	if err != nil {
		return err
	}
	return lines.Flush()
}
