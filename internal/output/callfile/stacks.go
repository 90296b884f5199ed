package callfile

import (
	"context"
	"encoding/hex"
	"io"
	"path/filepath"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/format/speedscope"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// StackWeight returns the weight of a stack itself: its calls or its time.
func StackWeight(by string) func(*calltrie.Stats) uint64 {
	if by == "calls" {
		return func(s *calltrie.Stats) uint64 { return s.Calls }
	}
	return func(s *calltrie.Stats) uint64 { return s.Self }
}

// groups returns the stacks to write, and prints a note if they are truncated.
func (v *converter) groups() []logset.Group {
	NoteDepth(v.set, v.results)
	return v.set.MarkedGroups(v.results, v.PerThread)
}

// NoteDepth prints a note if stacks were truncated.
func NoteDepth(t *logset.Set, results []*account.Result) {
	for i, r := range results {
		if depth := r.Total().MaxDepth; depth > export.MaxFrames {
			verb.Note(t.Streams, "%s: stacks are up to %d frames deep: the middle of stacks deeper than %d is omitted", t.Logs[i].Info().File, depth, export.MaxFrames)
		}
	}
}

func (v *converter) folded(_ context.Context, w io.Writer) error {
	return WriteFolded(v.set, w, v.groups(), StackWeight(v.By), verb.NameFilter{})
}

// WriteFolded writes the stacks with a weight whose innermost function is selected.
func WriteFolded(t *logset.Set, w io.Writer, groups []logset.Group, weight func(*calltrie.Stats) uint64, filter verb.NameFilter) error {
	out := folded.NewWriter(w)
	var names []string
	for _, g := range groups {
		err := export.EachStack(g.Trie, export.MaxFrames, func(stack []calllog.FuncID, n *calltrie.Node) error {
			if weight(&n.Stats) == 0 || !filter.Match(t.Funcs.Name(n.Func)) {
				return nil
			}
			names = names[:0]
			if g.Label != "" {
				names = append(names, g.Label)
			}
			for _, fn := range stack {
				names = append(names, t.Name(fn))
			}
			return out.Write(names, weight(&n.Stats))
		})
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

func (v *converter) speedscopeSums(w io.Writer) error {
	unit, weight := v.scopeUnit(), StackWeight(v.By)
	if v.By == "calls" {
		unit = speedscope.None
	}
	out := speedscope.NewWriter(w, v.set.Title(), verb.Program())
	numbers := make(map[calllog.FuncID]int)
	var frames []int
	for _, g := range v.groups() {
		label := g.Label
		if label == "" {
			label = "all threads"
		}
		err := out.Sampled(label, unit, func(yield func([]int, uint64) error) error {
			return export.EachStack(g.Trie, export.MaxFrames, func(stack []calllog.FuncID, n *calltrie.Node) error {
				if weight(&n.Stats) == 0 {
					return nil
				}
				frames = frames[:0]
				for _, fn := range stack {
					number, ok := numbers[fn]
					if !ok {
						number = out.Function(v.frame(fn))
						numbers[fn] = number
					}
					frames = append(frames, number)
				}
				return yield(frames, weight(&n.Stats))
			})
		})
		if err != nil {
			return err
		}
	}
	return out.Close()
}

func (v *converter) pprof(_ context.Context, w io.Writer) error {
	p, err := v.asPprof()
	if err != nil {
		return err
	}
	if logfile.Suffix(v.Out) == "" || v.packing(&Rules{packed: true}) == "" {
		return p.Write(w) // which packs with gzip
	}
	return p.WriteUncompressed(w)
}

func (v *converter) otlp(_ context.Context, w io.Writer) error {
	p, err := v.asPprof()
	if err != nil {
		return err
	}
	name, buildID := v.program()
	return export.WriteOTLP(w, p, export.Resource{Service: name, BuildID: buildID, Writer: verb.Program()})
}

// program returns the name and the build id of the program that wrote the logs. If they do not
// contain it, the name is that of the map, or else of the logs.
func (v *converter) program() (name, buildID string) {
	if list := v.set.Objects.List(); len(list) > 0 { // the first is the executable
		return filepath.Base(list[0].Path), hex.EncodeToString([]byte(list[0].BuildID))
	}
	if len(v.Maps) == 1 {
		return filepath.Base(v.Maps[0]), ""
	}
	return v.set.Title(), ""
}

// asPprof returns the stacks in pprof's format.
func (v *converter) asPprof() (*pprof.Profile, error) {
	opt := export.StackOptions{Unit: "nanoseconds", Show: v.set.Names.Show, Name: v.set.Funcs.Name}
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
		s := export.Stacks{Trie: g.Trie}
		if th := g.Thread; th != nil {
			s.Numbers = map[string]uint32{"thread": th.TID, "process": th.PID}
			if len(v.set.Logs) > 1 {
				s.Labels = map[string]string{"log": th.Log.File}
			}
		}
		groups = append(groups, s)
	}
	p := export.StackPprof(groups, v.set.Funcs, opt)
	return p, p.CheckValid()
}

// send sends the stacks to profile stores.
func (v *converter) send(ctx context.Context) error {
	p, err := v.asPprof()
	if err != nil {
		return err
	}
	name, buildID := v.program()
	return v.Stores.Send(ctx, v.set.Streams, p, name, buildID)
}

// span returns the time at which the trace begins, 0 if its clock does not provide it, and its
// duration.
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
