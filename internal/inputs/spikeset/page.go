package spikeset

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// PageStacks is the default number of stacks in a page.
const PageStacks = 200

// Shown returns the first groups of an order, at most top if that is not 0, and how many there are beside.
func (t *Set) Shown(by spikes.Order, top int) (groups []*spikes.Group, left int) {
	all := t.Spikes.Ranked(by)
	groups = all
	if top > 0 {
		groups = all[:min(top, len(all))]
	}
	return groups, len(all) - len(groups)
}

// Example is the spike of a group that is shown for all.
func Example(g *spikes.Group, by spikes.Order) *spikes.Spike {
	if by == spikes.ByTime && g.Worst.Blame == nil {
		return g.Last
	}
	return g.Worst
}

// Page returns the page of the spikes, of at most top stacks if that is not 0.
func (t *Set) Page(by spikes.Order, top int) (*spikes.Page, error) {
	groups, left := t.Shown(by, top)
	page := &spikes.Page{Title: "Spikes of " + t.Title(), Reach: t.Spikes.Reach().Lines(), Late: t.Spikes.Late(), Left: left}
	page.Reach = slices.Concat(page.Reach, t.Writer.Explained())
	page.Notes = slices.Concat(t.Writer.Freezes(), t.Writer.Waiting(0))
	for _, g := range groups {
		page.Spikes = append(page.Spikes, t.Writer.Object(g, Example(g, by)))
	}
	t.addOpenTo(page, top)
	if err := t.drawWindows(page, groups, by); err != nil {
		return nil, err
	}
	page.Suggestions = t.Spikes.Suggest(t.Names.Name)
	return page, nil
}

// addOpenTo adds the calls that have not ended to a page, at most top if that is not 0.
func (t *Set) addOpenTo(page *spikes.Page, top int) {
	open, going := t.Spikes.Open(t.Names.Name)
	sure, doubtful := t.Spikes.Alike(open)
	list := slices.Concat(sure, doubtful)
	if top > 0 && len(list) > top {
		page.OpenLeft = len(list) - top
		list = list[:top]
	}
	for _, sp := range list {
		page.Open = append(page.Open, t.Writer.Object(spikes.Alone(sp), sp))
	}
	if text := t.Writer.Going(going); text != "" {
		page.Notes = append(page.Notes, text)
	}
}

// drawWindows adds the calls around its spikes to a page.
func (t *Set) drawWindows(page *spikes.Page, groups []*spikes.Group, by spikes.Order) error {
	page.Timelines = make([]*spikes.Timeline, len(groups))
	for log, file := range t.files {
		if len(t.Spikes.Logs[log].Windows) == 0 {
			continue
		}
		// Notes about the log have been printed before.
		quiet := &verb.Streams{Out: io.Discard, Err: io.Discard}
		set := logset.New(quiet, t.Names.names, file)
		w, err := tracelog.OpenWindows(file, file.Size, file.Name, &set.Objects, tracelog.AllWindows)
		if err != nil {
			return err
		}
		set.Logs = []calllog.Log{w}
		if set.Funcs, err = set.LoadFuncs(nil); err != nil {
			return err
		}
		for i, g := range groups {
			sp := Example(g, by)
			if sp.Log != log || len(sp.Stack) == 0 {
				continue
			}
			at := w.Of(sp.Number, sp.TID, sp.Stack[0].SP)
			if at < 0 {
				continue
			}
			if page.Timelines[i], err = spikes.NewTimeline(w, at, sp.Time, set.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read opens logs and reads their spikes, with the names of inlined functions. Functions are named by the binaries, or by
// the names in the logs. The caller closes the set, also of an error.
func (t *Set) Read(names *report.Names, logs, binaries []string) (err error) {
	if t.Names, err = NewNames(t.Streams, names, binaries, true); err != nil {
		return err
	}
	if err := t.Open(logs); err != nil {
		return err
	}
	t.Writer = &spikes.Writer{Set: t.Spikes, Name: t.Names.Name}
	return t.Fill()
}

// ReadPage returns the page of the spikes in logs, worst first.
func ReadPage(s *verb.Streams, names *report.Names, logs, binaries []string) (*spikes.Page, error) {
	t := &Set{Streams: s}
	defer t.Close()
	if err := t.Read(names, logs, binaries); err != nil {
		return nil, err
	}
	return t.Page(spikes.ByWorst, PageStacks)
}

// Title is the names of the logs, without their directories.
func (t *Set) Title() string {
	if len(t.Logs) > 1 {
		return fmt.Sprintf("%d processes", len(t.Logs))
	}
	for i := range t.Logs[0].Modules {
		if m := &t.Logs[0].Modules[i]; m.Main {
			return filepath.Base(m.Path)
		}
	}
	return filepath.Base(t.Logs[0].Name)
}
