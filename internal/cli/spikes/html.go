package spikes

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// pageSpikes is the default number of stacks in a page.
const pageSpikes = 200

// writeHTML writes a page with the spikes that are shown.
func (f *spikesFlags) writeHTML(t *spikeSet) error {
	top := f.top
	if !f.topGiven {
		top = pageSpikes
	}
	page, err := f.page(t, top)
	if err != nil {
		return err
	}
	err = verb.WriteFile(t.streams, f.html, func(w io.Writer) error { return single.Spikes(w, page) })
	if err == nil {
		open := ""
		if n := len(page.Open); n > 0 {
			open = ", " + report.Plural(n, "call") + " that " + report.Either(uint64(n), "has", "have") + " not ended"
		}
		fmt.Fprintf(t.streams.Remarks(), "%s: %s%s\n", f.html, report.Plural(len(page.Spikes), "stack"), open)
	}
	return err
}

// page returns the page of the spikes of t.
func (f *spikesFlags) page(t *spikeSet, top int) (*spikes.Page, error) {
	groups := f.shown(t, top)
	page := &spikes.Page{Title: "Spikes of " + t.title(), Reach: t.set.Reach().Lines(), Late: t.set.Late(), Left: f.left(t, groups)}
	page.Reach = slices.Concat(page.Reach, t.writer.Explained())
	page.Notes = slices.Concat(t.writer.Freezes(), t.writer.Waiting(0))
	for _, g := range groups {
		page.Spikes = append(page.Spikes, t.writer.Object(g, f.of(g)))
	}
	f.addOpen(t, page, top)
	if err := f.drawWindows(t, page, groups); err != nil {
		return nil, err
	}
	page.Suggestions = t.set.Suggest(t.names.name)
	return page, nil
}

// addOpen adds the calls that have not ended to a page, at most top if that is not 0.
func (f *spikesFlags) addOpen(t *spikeSet, page *spikes.Page, top int) {
	open, going := t.set.Open(t.names.name)
	sure, doubtful := t.set.Alike(open)
	list := slices.Concat(sure, doubtful)
	if top > 0 && len(list) > top {
		page.OpenLeft = len(list) - top
		list = list[:top]
	}
	for _, sp := range list {
		page.Open = append(page.Open, t.writer.Object(spikes.Alone(sp), sp))
	}
	if text := t.writer.Going(going); text != "" {
		page.Notes = append(page.Notes, text)
	}
}

// read opens logs and reads their spikes, with the names of inlined functions.
func (f *spikesFlags) read(t *spikeSet, logs []string) (err error) {
	if t.names, err = newSpikeNames(t.streams, f.Names(), f.debug, true); err != nil {
		return err
	}
	if err := t.open(logs); err != nil {
		return err
	}
	t.writer = &spikes.Writer{Set: t.set, Name: t.names.name}
	return t.fill()
}

// ReadPage returns the page of the spikes in logs, worst first. Functions are named by the
// binaries, or by the names in the logs.
func ReadPage(s *verb.Streams, display verb.DisplayFlags, logs, binaries []string) (*spikes.Page, error) {
	f := spikesFlags{DisplayFlags: display, sort: string(spikes.ByWorst), debug: binaries}
	t := &spikeSet{streams: s}
	defer t.Close()
	if err := f.read(t, logs); err != nil {
		return nil, err
	}
	return f.page(t, pageSpikes)
}

// title is the names of the logs, without their directories.
func (t *spikeSet) title() string {
	if len(t.logs) > 1 {
		return fmt.Sprintf("%d processes", len(t.logs))
	}
	for i := range t.logs[0].Modules {
		if m := &t.logs[0].Modules[i]; m.Main {
			return filepath.Base(m.Path)
		}
	}
	return filepath.Base(t.logs[0].Name)
}
