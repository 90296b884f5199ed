package flame

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/cli/samples"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/verb"
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
	made, err := samples.Run(ctx, s, &pipeline.Plan{Product: pipeline.Stacks, Samples: args, Binaries: f.binaries, Infer: infer})
	if err != nil {
		return nil, err
	}
	doc := samples.Drawing(made, f.names.Names())
	return doc, f.chooseSampled(doc, filter, made.Stacks.Funcs.Name)
}

// chooseSampled keeps the selected stacks, and returns an error if there are none.
func (f *flameFlags) chooseSampled(doc *flamegraph.Profile, filter verb.NameFilter, symbol func(calllog.FuncID) string) error {
	f.choose(doc, func(id calllog.FuncID) bool { return filter.Match(symbol(id)) })
	if doc.Groups == nil && f.regexp != "" {
		return fmt.Errorf("%s: no stack has a function that matches %s", doc.Title, f.regexp)
	}
	return nil
}

// foldedInput reports whether an input is folded stacks. The part of standard input that was
// read is included in the returned streams again. Other pipes are assumed to be logs.
func foldedInput(s *verb.Streams, path string) (*verb.Streams, bool) {
	var stdin io.Reader
	if path == logfile.Stdin {
		in := bufio.NewReaderSize(s.In, logfile.HeadSize)
		head, _ := in.Peek(logfile.HeadSize)
		s, stdin = &verb.Streams{In: in, Out: s.Out, Err: s.Err}, bytes.NewReader(head)
	} else if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return s, false
	}
	in, err := logfile.OpenStream(path, stdin)
	if err != nil {
		return s, false
	}
	defer in.Close()
	head := make([]byte, logfile.HeadSize)
	n, _ := io.ReadFull(in, head) // an error shows again
	return s, folded.Detect(head[:n])
}

// ofFolded returns the stacks of a folded text of any tool.
func (f *flameFlags) ofFolded(s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	if err := f.checkSampled(); err != nil {
		return nil, err
	}
	paths, err := logfile.Expand(args)
	if err != nil {
		return nil, err
	}
	x := foldedStacks{trie: calltrie.New(), ids: map[string]calllog.FuncID{}}
	title := ""
	for i, path := range paths {
		if i > 0 {
			title += ", "
		}
		title += filepath.Base(path)
		if err := x.add(s, path); err != nil {
			return nil, err
		}
	}
	names := f.names.Names()
	symbol := func(id calllog.FuncID) string { return x.names[id.Index()-1] }
	doc := &flamegraph.Profile{
		Title: title, Unit: flamegraph.Samples, Groups: []flamegraph.Group{{Trie: x.trie}},
		Name:  func(id calllog.FuncID) string { return names.Show(symbol(id)) },
		Notes: []string{report.Count(x.sum) + " samples."},
	}
	return doc, f.chooseSampled(doc, filter, symbol)
}

// foldedStacks are stacks of functions that have names only.
type foldedStacks struct {
	trie  *calltrie.Trie
	ids   map[string]calllog.FuncID
	names []string // by the index of an id, less one
	sum   uint64
}

// add reads a text. Lines that are no stacks are counted.
func (x *foldedStacks) add(s *verb.Streams, path string) error {
	in, err := logfile.OpenStream(path, s.In)
	if err != nil {
		return err
	}
	defer in.Close()
	var first error
	bad := 0
	for stack, err := range folded.Read(in) {
		if err != nil {
			if first == nil {
				first = err
			}
			bad++
			continue
		}
		x.sum += stack.Value
		if err := x.stack(stack); err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
	}
	if bad > 0 {
		verb.Note(s, "%s: %s omitted, the first: %v", in.Name, report.Plural(bad, "line"), first)
	}
	return nil
}

func (x *foldedStacks) stack(s folded.Stack) error {
	node := calltrie.Root
	for _, name := range s.Names {
		id, ok := x.ids[name]
		if !ok {
			id = calllog.MakeFuncID(0, uint32(len(x.names)+1))
			if int(id.Index()) != len(x.names)+1 {
				return fmt.Errorf("there are more than %s functions", report.Count(len(x.names)))
			}
			x.ids[name] = id
			x.names = append(x.names, name)
		}
		node = x.trie.Child(node, id)
		x.trie.Node(node).Total += s.Value
	}
	x.trie.Node(node).Self += s.Value
	return nil
}
