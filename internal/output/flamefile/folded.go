package flamefile

import (
	"io"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/export"
)

// writeFolded writes the stacks as text. The label of a group is the outermost function.
func (f *Choice) writeFolded(w io.Writer, doc flamegraph.Document, _ flamegraph.Options) (flamegraph.Summary, error) {
	var sum flamegraph.Summary
	p, ok := doc.(*flamegraph.Profile)
	if !ok {
		return sum, nil
	}
	name := p.Name
	if f.marked != nil {
		name = f.marked
	}
	name = remembered(name)
	lines := folded.NewWriter(w)
	var names []string
	for _, g := range p.Groups {
		err := export.EachStack(g.Trie, export.MaxFrames, func(stack []calllog.FuncID, n *calltrie.Node) error {
			names = names[:0]
			if g.Label != "" {
				names = append(names, g.Label)
			}
			for _, fn := range stack {
				if fn == export.LeftOut {
					names = append(names, export.LeftOutName)
				} else {
					names = append(names, name(fn))
				}
			}
			sum.Stacks++
			return lines.Write(names, n.Self)
		})
		if err != nil {
			return sum, err
		}
	}
	return sum, lines.Flush()
}

// remembered returns name with a cache: to show a name takes longer than to write it.
func remembered(name func(calllog.FuncID) string) func(calllog.FuncID) string {
	known := map[calllog.FuncID]string{}
	return func(id calllog.FuncID) string {
		text, ok := known[id]
		if !ok {
			text = name(id)
			known[id] = text
		}
		return text
	}
}
