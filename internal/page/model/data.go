package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// MaxTexts is how many bytes of source texts a report has at most, and maxHotTexts how many of them are of files of
// which no lines were recorded.
const (
	MaxTexts    = 64 << 20
	maxHotTexts = 8 << 20
)

// findTexts finds the texts of files that have lines, those with functions first, up to MaxTexts, and then of those
// with functions that logs, samples or spikes name.
func (b *builder) findTexts() {
	recorded := make([]int, 0, len(b.m.Files))
	for i := range b.m.Files {
		if len(b.sources[i].Lines) > 0 || b.m.Files[i].Functions[1] > 0 {
			recorded = append(recorded, i)
		}
	}
	stablesort.Func(recorded, func(x, y int) int { return b.m.Files[y].Functions[1] - b.m.Files[x].Functions[1] })
	used := b.takeTexts(recorded, MaxTexts)
	b.takeTexts(b.hotFiles(recorded), min(maxHotTexts, MaxTexts-used))
}

// takeTexts finds the texts of files, up to so many bytes, and returns how many it found.
func (b *builder) takeTexts(files []int, most int64) (total int64) {
	left := 0
	for _, i := range files {
		f := &b.m.Files[i]
		f.Data = fmt.Sprintf("source/%d.json", i)
		if b.in.Texts == nil {
			f.Missing = "sources were not asked for"
			continue
		}
		size, err := b.in.Texts.Find(f.Path)
		switch {
		case err != nil:
			f.Missing = err.Error()
		case total+size > most:
			f.Missing = fmt.Sprintf("the report has %d MB of such sources at most", most>>20)
			left++
		default:
			total += size
		}
	}
	if left > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("The texts of %s are not included: the report has %d MB of them at most.", report.Plural(left, "source file"), most>>20))
	}
	return total
}

// hotFiles returns the files that are not among those, with functions that logs, samples or spikes name, those with the
// largest share of time or samples first.
func (b *builder) hotFiles(recorded []int) []int {
	known, share := map[int]bool{}, map[int]float64{}
	for _, i := range recorded {
		known[i] = true
	}
	for i := range b.m.Functions {
		f := &b.m.Functions[i]
		if f.File < 0 || f.Time == nil && f.Samples == nil && f.Spikes == nil || known[f.File] {
			continue
		}
		share[f.File] += 0 // that it is named
		if f.Time != nil && b.m.Calls != nil && b.m.Calls.Time > 0 {
			share[f.File] += float64(f.Time.Self) / float64(b.m.Calls.Time)
		}
		if f.Samples != nil && b.m.Samples != nil && b.m.Samples.Count > 0 {
			share[f.File] += float64(f.Samples.Self) / float64(b.m.Samples.Count)
		}
		if f.Spikes != nil {
			share[f.File]++
		}
	}
	files := slices.Sorted(maps.Keys(share))
	stablesort.Func(files, func(x, y int) int { return cmp.Compare(share[y], share[x]) })
	return files
}

// WriteModel writes the model as one line of JSON.
func (r *Report) WriteModel(w io.Writer) error { return encode(w, r.Model) }

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Data yields the data that views load.
func (r *Report) Data() iter.Seq[page.Blob] {
	return func(yield func(page.Blob) bool) {
		for i := range r.sources {
			path := r.Model.Files[i].Data
			if path != "" && !yield(page.Blob{Path: path, Write: func(w io.Writer) error { return r.writeSource(w, i) }}) {
				return
			}
		}
		for _, b := range r.blobs {
			if !yield(b) {
				return
			}
		}
	}
}

// Blob returns the data that views load by a path.
func (r *Report) Blob(path string) (page.Blob, bool) {
	for b := range r.Data() {
		if b.Path == path {
			return b, true
		}
	}
	if r.find != nil {
		return r.find(path)
	}
	return page.Blob{}, false
}

// Close closes the files that Data and Blob read.
func (r *Report) Close() {
	if r.close != nil {
		r.close()
	}
}

// writeSource writes file i with its text.
func (r *Report) writeSource(w io.Writer, i int) error {
	src := r.sources[i]
	if f := &r.Model.Files[i]; f.Missing == "" && r.texts != nil {
		text, err := r.texts.Read(f.Path)
		if err != nil {
			return err
		}
		src.Text = strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return encode(w, &src)
}
