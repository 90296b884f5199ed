package flamefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/carried"
	"github.com/cairnprof/cairn/internal/samples/stackfile"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// Values of --kernel-frames.
const (
	KernelAll  = "all"  // each function
	KernelOne  = "one"  // one frame
	KernelNone = "none" // the callers spent the time
)

// Names of frames that stand for others.
const (
	kernelName  = "[kernel]"
	noStackName = "[no stack]"
)

// ofNamed returns the stacks of inputs that have names in place of addresses.
func (f *Choice) ofNamed(ctx context.Context, s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	if f.By == string(flamegraph.ByCalls) {
		return nil, verb.Usagef("--by calls: samples do not count calls")
	}
	paths, err := logfile.Expand(args)
	if err != nil {
		return nil, err
	}
	x := namedStacks{
		kernel: f.Kernel, event: f.Event, perThread: f.PerThread,
		groups: map[string]*calltrie.Trie{}, ids: map[sample.NamedFrame]calllog.FuncID{}, others: map[string]uint64{},
	}
	title := ""
	for i, path := range paths {
		if i > 0 {
			title += ", "
		}
		title += filepath.Base(path)
		if err := x.read(ctx, s, path); err != nil {
			return nil, err
		}
	}
	if f.Event != "" && len(x.groups) == 0 {
		return nil, fmt.Errorf("%s: no sample of the event %s: there are %s", title, f.Event, x.otherEvents())
	}
	if f.PerThread && !x.threads {
		return nil, verb.Usagef("--per-thread: %s does not name threads", title)
	}
	if len(x.others) > 0 && f.Event == "" {
		verb.Note(s, "%s: not drawn: %s: choose with --event", title, x.otherEvents())
	}
	names := f.Names.Names()
	doc := &flamegraph.Profile{
		Title: title, Unit: cmp.Or(x.unit, sample.Samples), Sampled: true, Groups: x.labelled(), Notes: x.notes(),
		Name: func(id calllog.FuncID) string {
			frame := x.frames[id.Index()-1]
			return names.Show(frame.Name) + shownMark[frame.Kind]
		},
		Kind: func(id calllog.FuncID) flamegraph.Kind { return frameKinds[x.frames[id.Index()-1].Kind] },
	}
	f.marked = func(id calllog.FuncID) string {
		frame := x.frames[id.Index()-1]
		return names.Show(frame.Name) + foldedMark[frame.Kind]
	}
	return doc, f.chooseSampled(doc, filter, func(id calllog.FuncID) string { return x.frames[id.Index()-1].Name })
}

var (
	frameKinds = map[sample.FrameKind]flamegraph.Kind{sample.KernelFrame: flamegraph.Kernel, sample.InlinedFrame: flamegraph.Inlined}
	shownMark  = map[sample.FrameKind]string{sample.KernelFrame: " [kernel]", sample.InlinedFrame: " [inlined]"}
	// foldedMark are the suffixes by which flame graph tools know kinds of frames.
	foldedMark = map[sample.FrameKind]string{sample.KernelFrame: "_[k]", sample.InlinedFrame: "_[i]", sample.JITFrame: "_[j]"}
)

// namedStacks sums stacks of functions that have names only.
type namedStacks struct {
	kernel, event string
	perThread     bool
	threads       bool // samples name their threads

	groups  map[string]*calltrie.Trie // by the thread, command or the like
	order   []string                  // of groups, as they came
	ids     map[sample.NamedFrame]calllog.FuncID
	frames  []sample.NamedFrame // by the index of an id, less one
	unit    string
	counted string            // the event, as inputs call it
	sum     uint64            // in unit
	moments uint64            // 0 if not known
	bare    uint64            // moments without a stack
	others  map[string]uint64 // moments of other events, which are not drawn

	path []sample.NamedFrame // of the current stack
}

// read adds an input. What cannot be read is reported.
func (x *namedStacks) read(ctx context.Context, s *verb.Streams, path string) error {
	if _, head := peek(s, path); path != logfile.Stdin && carried.Detect(head) {
		return x.readCarried(ctx, s, path)
	}
	in, err := logfile.OpenStream(path, s.In)
	if err != nil {
		return err
	}
	defer in.Close()
	file, ok := stackfile.Open(in, in.Name)
	if !ok {
		return fmt.Errorf("%s: not stacks with names, as the inputs before it", in.Name)
	}
	var stats sample.Stats
	for stack, err := range file.Stacks {
		var damage *sample.Damage
		switch {
		case errors.As(err, &damage):
			stats.Merge(&sample.Stats{Damage: []*sample.Damage{damage}})
			continue
		case err != nil:
			return err
		}
		if err := x.add(stack); err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
	}
	if note := in.Note(); note != "" {
		verb.Note(s, "%s", note)
	}
	for _, d := range stats.Damage {
		verb.Note(s, "%v", d)
	}
	return nil
}

// readCarried adds a recording with the symbols of its files.
func (x *namedStacks) readCarried(ctx context.Context, s *verb.Streams, path string) error {
	in, err := carried.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	for stack, err := range in.Stacks(ctx) {
		if err != nil {
			return err
		}
		if err := x.add(stack); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := in.Empty(); err != nil {
		return err
	}
	for _, note := range in.Notes() {
		verb.Note(s, "%s", note)
	}
	return nil
}

// eventName returns the name of an event without the part of a hybrid processor that counted it: cores of both kinds
// count cycles.
func eventName(event string) string {
	for _, unit := range []string{"cpu_core/", "cpu_atom/"} {
		if rest, ok := strings.CutPrefix(event, unit); ok {
			name, modifier, _ := strings.Cut(rest, "/")
			if modifier != "" {
				return name + ":" + modifier
			}
			return name
		}
	}
	return event
}

// wanted reports whether stacks of an event are drawn: those of the given one, or of the first.
func (x *namedStacks) wanted(s *sample.NamedStack) bool {
	event := eventName(s.Event)
	if x.event != "" {
		name, _, _ := strings.Cut(event, ":")
		return x.event == s.Event || x.event == event || x.event == name
	}
	return len(x.groups) == 0 || x.counted == event
}

func (x *namedStacks) add(s *sample.NamedStack) error {
	if !x.wanted(s) {
		x.others[eventName(s.Event)] += max(s.Moments, 1)
		return nil
	}
	if len(x.groups) == 0 {
		x.counted, x.unit = eventName(s.Event), s.Unit
	}
	label := s.Command
	if x.perThread && s.TID != sample.UnknownPID {
		x.threads = true
		thread := fmt.Sprint(s.TID)
		if s.PID != sample.UnknownPID {
			thread = fmt.Sprintf("%d/%d", s.PID, s.TID)
		}
		label = strings.TrimSpace(label + " " + thread)
	}
	trie := x.groups[label]
	if trie == nil {
		trie = calltrie.New()
		x.groups[label] = trie
		x.order = append(x.order, label)
	}
	x.sum = saturate.Add(x.sum, s.Value)
	x.moments = saturate.Add(x.moments, s.Moments)
	if len(s.Frames) == 0 {
		x.bare += max(s.Moments, 1)
	}
	node := calltrie.Root
	for _, frame := range x.drawn(s.Frames) {
		id, err := x.id(frame)
		if err != nil {
			return err
		}
		node = trie.Child(node, id)
		n := trie.Node(node)
		n.Total = saturate.Add(n.Total, s.Value)
	}
	n := trie.Node(node)
	n.Self = saturate.Add(n.Self, s.Value)
	return nil
}

// drawn returns the frames of a stack that are drawn, at least one.
func (x *namedStacks) drawn(frames []sample.NamedFrame) []sample.NamedFrame {
	if x.kernel == KernelAll && len(frames) > 0 {
		return frames
	}
	x.path = x.path[:0]
	for i, f := range frames {
		if f.Kind != sample.KernelFrame || x.kernel == KernelAll {
			x.path = append(x.path, f)
		} else if x.kernel == KernelOne && (i == 0 || frames[i-1].Kind != sample.KernelFrame) {
			x.path = append(x.path, sample.NamedFrame{Name: kernelName, Kind: sample.KernelFrame})
		}
	}
	switch {
	case len(x.path) > 0:
	case len(frames) > 0:
		x.path = append(x.path, sample.NamedFrame{Name: kernelName, Kind: sample.KernelFrame})
	default:
		x.path = append(x.path, sample.NamedFrame{Name: noStackName})
	}
	return x.path
}

func (x *namedStacks) id(frame sample.NamedFrame) (calllog.FuncID, error) {
	id, ok := x.ids[frame]
	if !ok {
		id = calllog.MakeFuncID(0, uint32(len(x.frames)+1))
		if int(id.Index()) != len(x.frames)+1 {
			return 0, fmt.Errorf("there are more than %s functions", report.Count(len(x.frames)))
		}
		x.ids[frame] = id
		x.frames = append(x.frames, frame)
	}
	return id, nil
}

// labelled returns the groups, those with the most first.
func (x *namedStacks) labelled() []flamegraph.Group {
	totals := map[string]uint64{}
	for label, trie := range x.groups {
		for _, n := range trie.Nodes() {
			totals[label] = saturate.Add(totals[label], n.Self)
		}
	}
	stablesort.Func(x.order, func(a, b string) int { return cmp.Compare(totals[b], totals[a]) })
	var list []flamegraph.Group
	for _, label := range x.order {
		list = append(list, flamegraph.Group{Label: label, Trie: x.groups[label]})
	}
	return list
}

// notes say what was counted, and what is not drawn.
func (x *namedStacks) notes() []string {
	if len(x.groups) == 0 {
		return []string{"There are no stacks."}
	}
	of := ""
	if x.counted != "" {
		of = " of " + x.counted
	}
	var list []string
	switch {
	case x.unit == sample.Samples:
		list = append(list, report.Count(x.sum)+" samples"+of+".")
	case x.moments > 0:
		list = append(list, fmt.Sprintf("%s samples%s, %s.", report.Count(x.moments), of, report.Duration(x.sum, x.unit)))
	default:
		list = append(list, report.Duration(x.sum, x.unit)+of+".")
	}
	if x.bare > 0 {
		list = append(list, report.Count(x.bare)+" of them have no stack.")
	}
	if len(x.others) > 0 {
		list = append(list, "Not drawn: "+x.otherEvents()+" (see --event).")
	}
	return list
}

// otherEvents lists the events that are not drawn.
func (x *namedStacks) otherEvents() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(x.others)) {
		list = append(list, fmt.Sprintf("%s of %s", report.Count(x.others[name]), cmp.Or(name, "an event without a name")))
	}
	return strings.Join(list, ", ")
}
