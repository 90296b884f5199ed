// Package reportset reads all that was recorded of a program, in files of any kind, for one report.
package reportset

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/page/model"
	"github.com/cairnprof/cairn/internal/verb"
)

// Choice is what a report has besides its inputs.
type Choice struct {
	Title     string
	Against   string
	Paths     []string // FROM=TO
	NoSources bool
	System    bool
	NoMarkers bool
	OnlyRan   bool
	Served    bool // views load data of a server
}

// Shown is Build for a page that follows its inputs: what is left out is in its text.
func (f *Choice) Shown(ctx context.Context, s *verb.Streams, args []string) (*model.Report, error) {
	r, _, err := f.Build(ctx, s, args)
	return r, err
}

// Build builds the model of the inputs that args name. It returns the number of inputs that are not in it.
func (f *Choice) Build(ctx context.Context, s *verb.Streams, args []string) (_ *model.Report, omitted int, err error) {
	in := New(s)
	for _, arg := range args {
		if err := in.Add(arg); err != nil {
			return nil, 0, err
		}
	}
	r, err := f.Model(ctx, s, in)
	return r, in.Omitted, err
}

// Model reads the inputs and builds the model.
func (f *Choice) Model(ctx context.Context, s *verb.Streams, in *Inputs) (*model.Report, error) {
	src, err := f.read(ctx, in)
	if err != nil {
		return nil, err
	}
	done := verb.Working(s, "reading sources and computing the report")
	r := model.Build(src)
	done()
	if t, ok := src.Texts.(*texts); ok && t.stale() != "" {
		r.Model.Uncertain = append(r.Model.Uncertain, t.stale())
	}
	return r, nil
}

// askLimit is the timeout of a request to a collector.
const askLimit = 10 * time.Second

// RemoteState returns a text that changes with the content of collectors at the URLs of args.
// It is before if one does not answer: the page does not change.
func RemoteState(ctx context.Context, args []string, before string) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var b strings.Builder
	for _, arg := range args {
		if !verb.IsURL(arg) {
			continue
		}
		state, err := verb.StateOf(ctx, arg)
		if err != nil {
			return before
		}
		fmt.Fprintf(&b, "%s %s\n", arg, state)
	}
	return b.String()
}

// FilesState returns a text that changes with the files that args name.
func FilesState(args []string) string {
	var b strings.Builder
	for _, arg := range args {
		files := 0
		_ = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if files++; files > maxWalked {
				return fs.SkipAll
			}
			if st, err := d.Info(); err == nil {
				fmt.Fprintf(&b, "%s %d %d\n", path, st.Size(), st.ModTime().UnixNano())
			}
			return nil
		})
	}
	return b.String()
}
