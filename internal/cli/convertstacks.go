package cli

import (
	"context"
	"io"

	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/format/speedscope"
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
func (v *converter) groups() []stackGroup {
	if !v.perThread {
		return []stackGroup{{trie: merged(v.results)}}
	}
	var list []stackGroup
	for _, th := range v.set.perThread(v.results) {
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
func (v *converter) noteDepth() {
	for i, r := range v.results {
		if depth := r.Total().MaxDepth; depth > export.MaxFrames {
			note(v.set.streams, "%s: stacks are up to %d frames deep: beyond %d the middle is left out", v.set.Logs[i].Info().File, depth, export.MaxFrames)
		}
	}
}

func (v *converter) folded(_ context.Context, w io.Writer) error {
	v.noteDepth()
	out := folded.NewWriter(w)
	var names []string
	for _, g := range v.groups() {
		err := export.EachStack(g.trie, export.MaxFrames, func(stack []trace.FuncID, n *calltrie.Node) error {
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

func (v *converter) speedscopeSums(w io.Writer) error {
	v.noteDepth()
	unit := v.scopeUnit()
	if v.by == "calls" {
		unit = speedscope.None
	}
	out := speedscope.NewWriter(w, v.title())
	numbers := make(map[trace.FuncID]int)
	var frames []int
	for _, g := range v.groups() {
		label := g.label
		if label == "" {
			label = "all threads"
		}
		err := out.Sampled(label, unit, func(yield func([]int, uint64) error) error {
			return export.EachStack(g.trie, export.MaxFrames, func(stack []trace.FuncID, n *calltrie.Node) error {
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

func (v *converter) pprof(_ context.Context, w io.Writer) error {
	v.noteDepth()
	opt := export.StackOptions{Unit: "nanoseconds", Show: v.set.names.Show, Name: v.set.Funcs.Name}
	if v.set.Clock.Hz == 0 {
		opt.Unit = "ticks"
	} else {
		opt.Start, opt.Duration = v.span()
	}
	for _, log := range v.set.Logs {
		opt.Comments = append(opt.Comments, log.Info().File)
	}
	var groups []export.Stacks
	for _, g := range v.groups() {
		s := export.Stacks{Trie: g.trie}
		if th := g.thread; th != nil {
			s.Numbers = map[string]uint32{"thread": th.TID, "process": th.PID}
			if len(v.set.Logs) > 1 {
				s.Labels = map[string]string{"log": th.Log.File}
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
func (v *converter) span() (start, duration uint64) {
	for i, origin := range v.origins() {
		for _, th := range v.results[i].Threads {
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
