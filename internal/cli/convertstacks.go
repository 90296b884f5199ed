package cli

import (
	"context"
	"io"
	"strconv"

	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/format/speedscope"
	"github.com/cairnprof/cairn/internal/account"
	"github.com/cairnprof/cairn/internal/calltrie"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/trace"
)

// stackGroup is stacks that are written together.
type stackGroup struct {
	label  string      // "" for those of all threads
	thread *threadTrie // nil for all
	trie   *calltrie.Trie
}

// groups returns the stacks of all threads, or those of each.
func (v *converter) groups(results []*account.Result) []stackGroup {
	if !v.perThread {
		return []stackGroup{{trie: merged(results)}}
	}
	var list []stackGroup
	for _, th := range v.set.perThread(results) {
		list = append(list, stackGroup{th.Label, &th, th.Trie})
	}
	return list
}

// weight is what a stack weighs of itself by --by.
func (v *converter) weight(n *calltrie.Node) uint64 {
	if v.by == "calls" {
		return n.Calls
	}
	return n.Self
}

// name is how to show a function of a stack.
func (v *converter) name(id trace.FuncID) string {
	if id == export.LeftOut {
		return export.LeftOutName
	}
	return v.set.name(id)
}

// noteDepth says that stacks were cut.
func (v *converter) noteDepth(results []*account.Result) {
	for i, r := range results {
		if depth := r.Total().MaxDepth; depth > export.MaxFrames {
			note(v.set.streams, "%s: stacks are up to %d frames deep: beyond %d the middle is left out", v.set.Logs[i].Info().File, depth, export.MaxFrames)
		}
	}
}

func (v *converter) folded(ctx context.Context, w io.Writer) error {
	results, err := v.set.account(ctx, v.options())
	if err != nil {
		return err
	}
	v.noteDepth(results)
	out := folded.NewWriter(w)
	var names []string
	for _, g := range v.groups(results) {
		err := export.EachStack(g.trie, func(stack []trace.FuncID, n *calltrie.Node) error {
			if v.weight(n) == 0 {
				return nil
			}
			names = names[:0]
			if g.label != "" {
				names = append(names, g.label)
			}
			for _, fn := range stack {
				names = append(names, v.name(fn))
			}
			return out.Write(names, v.weight(n))
		})
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

func (v *converter) speedscopeSums(ctx context.Context, w io.Writer) error {
	results, err := v.set.account(ctx, v.options())
	if err != nil {
		return err
	}
	v.noteDepth(results)
	unit := v.scopeUnit()
	if v.by == "calls" {
		unit = speedscope.None
	}
	out := speedscope.NewWriter(w, v.title())
	numbers := make(map[trace.FuncID]int)
	var frames []int
	for _, g := range v.groups(results) {
		label := g.label
		if label == "" {
			label = "all threads"
		}
		err := out.Sampled(label, unit, func(yield func([]int, uint64) error) error {
			return export.EachStack(g.trie, func(stack []trace.FuncID, n *calltrie.Node) error {
				if v.weight(n) == 0 {
					return nil
				}
				frames = frames[:0]
				for _, fn := range stack {
					number, ok := numbers[fn]
					if !ok {
						f := v.frame(fn)
						f.Name = v.name(fn)
						number = out.Function(f)
						numbers[fn] = number
					}
					frames = append(frames, number)
				}
				return yield(frames, v.weight(n))
			})
		})
		if err != nil {
			return err
		}
	}
	return out.Close()
}

func (v *converter) pprof(ctx context.Context, w io.Writer) error {
	results, err := v.set.account(ctx, v.options())
	if err != nil {
		return err
	}
	v.noteDepth(results)
	opt := export.StackOptions{Unit: "nanoseconds", Show: v.set.names.Show, Name: v.set.Funcs.Name}
	if v.set.Clock.Hz == 0 {
		opt.Unit = "ticks"
	} else {
		opt.Start, opt.Duration = v.span(results)
	}
	for _, log := range v.set.Logs {
		opt.Comments = append(opt.Comments, log.Info().File)
	}
	var groups []export.Stacks
	for _, g := range v.groups(results) {
		s := export.Stacks{Trie: g.trie}
		if th := g.thread; th != nil {
			s.Labels = map[string]string{
				"thread":  strconv.FormatUint(uint64(th.TID), 10),
				"process": strconv.FormatUint(uint64(th.PID), 10),
			}
			if len(v.set.Logs) > 1 {
				s.Labels["log"] = th.Log.File
			}
		}
		groups = append(groups, s)
	}
	p := export.StackPprof(groups, v.set.Funcs, opt)
	if err := p.CheckValid(); err != nil {
		return err
	}
	if logfile.Suffix(v.out) == "" || v.packing(&traceFormat{name: "pprof"}) == "" {
		return p.Write(w) // which packs with gzip
	}
	return p.WriteUncompressed(w)
}

// span returns when the trace begins, 0 if its clock does not tell, and how long
// it takes.
func (v *converter) span(results []*account.Result) (start, duration uint64) {
	for i, origin := range v.origins() {
		for _, th := range results[i].Threads {
			if th.Last > origin {
				duration = max(duration, th.Last-origin)
			}
		}
	}
	if v.set.Clock.Epoch {
		start = v.origins()[0]
	}
	return start, duration
}
