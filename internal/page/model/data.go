package model

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/page"
)

// MaxTexts is how many bytes of source texts a report has at most.
const MaxTexts = 64 << 20

// findTexts finds the texts of files that have lines, those with functions first, up to
// MaxTexts.
func (b *builder) findTexts() {
	order := make([]int, 0, len(b.m.Files))
	for i := range b.m.Files {
		if len(b.sources[i].Lines) > 0 || b.m.Files[i].Functions[1] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return b.m.Files[y].Functions[1] - b.m.Files[x].Functions[1] })
	total, left := int64(0), 0
	for _, i := range order {
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
		case total+size > MaxTexts:
			f.Missing = fmt.Sprintf("the report has %d MB of sources at most", MaxTexts>>20)
			left++
		default:
			total += size
		}
	}
	if left > 0 {
		b.m.Limits = append(b.m.Limits, fmt.Sprintf("The texts of %d source files are not included: the report has %d MB of sources at most.", left, MaxTexts>>20))
	}
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
