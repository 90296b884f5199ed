package sampleset

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// Found are the files of samples on this machine.
type Found struct {
	Binaries []string         // that have frames of the samples
	Tables   *pipeline.Tables // of all files that were mapped
	Kept     *samplefile.Kept // the samples, nil if they must be read again
}

// FindBinaries returns the files on this machine whose code is on the stacks of samples, by the
// paths and build ids of mappings: those that the samples are in come first. It notes which
// are not here, or here in another build. The samples must be in files, as they may be read twice.
func FindBinaries(ctx context.Context, s *verb.Streams, samples []string) (*Found, error) {
	verb.CollectSeldom()
	paths, err := samplefile.Expand(samples)
	if err != nil {
		return nil, err
	}
	all := newRanFiles()
	found := &Found{Tables: all.tables}
	total := uint64(0)
	for _, path := range paths {
		n, kept, err := all.read(ctx, path)
		if err != nil {
			return nil, err
		}
		if total += n; len(paths) == 1 {
			found.Kept = kept
		}
	}
	list := slices.Clone(all.list)
	stablesort.Func(list, func(a, b *ran) int {
		return cmp.Or(cmp.Compare(b.samples, a.samples), cmp.Compare(b.frames, a.frames), strings.Compare(a.path, b.path))
	})
	var missing []string
	for _, r := range list {
		if r.frames == 0 {
			continue
		}
		path, why := r.here()
		switch {
		case path != "":
			if !slices.Contains(found.Binaries, path) {
				found.Binaries = append(found.Binaries, path)
			}
		case r.samples > 0:
			missing = append(missing, fmt.Sprintf("%s (%s, %s of the samples)", r.path, why, report.Share(r.samples, total)))
		}
	}
	if len(found.Binaries) == 0 {
		switch {
		case total == 0 && len(all.damage) > 0:
			return nil, fmt.Errorf("no samples: %w", all.damage[0])
		case total == 0 && !all.text:
			return nil, all.empty
		case total == 0:
			return nil, fmt.Errorf("%s: no samples: it looks like output of perf script, but no line is a sample (cairn samples shows more)", paths[0])
		case all.kernel == total: // which has its own names
			return found, nil
		case len(missing) == 0:
			return nil, fmt.Errorf("%s: the samples do not say which files ran: name them among the arguments", paths[0])
		}
		return nil, fmt.Errorf("%s: no file that ran is on this machine: name its copy among the arguments: %s", paths[0], strings.Join(missing, "; "))
	}
	if all.left > 0 {
		verb.Note(s, "without names, as more than %d files ran (name those of interest among the arguments): %s of the samples", maxRan, report.Share(all.left, total))
	}
	if len(missing) > 0 {
		verb.Note(s, "without names, as the file that ran is not here (name its copy among the arguments): %s", strings.Join(missing, "; "))
	}
	return found, nil
}

// ran is a file of which code was mapped.
type ran struct {
	path, id string
	pid      int32  // of a process that mapped it
	start    uint64 // where
	samples  uint64 // in its code; callers are not counted
	frames   uint64 // of the stacks of samples, and ends of branches

	looked    bool // for the file
	file, why string
}

// here returns the path of a file, or why it cannot be used. The process that ran it may see another file at the path
// than this machine has. perf keeps copies of files by their build ids.
func (r *ran) here() (path, why string) {
	if r.looked {
		return r.file, r.why
	}
	r.looked, r.why = true, "not on this machine"
	of := mapped.Parse(r.path)
	candidates := []string{inside(r.pid, r.start, of.Path), of.Path}
	const shortest = 4
	if home, err := os.UserHomeDir(); err == nil && len(r.id) > shortest {
		candidates = append(candidates, filepath.Join(home, ".debug", ".build-id", r.id[:2], r.id[2:], "elf"))
	}
	for _, c := range candidates {
		if !filepath.IsAbs(c) {
			continue
		}
		switch usable, is := objfile.Usable(c, r.id); {
		case usable:
			r.file, r.why = c, ""
			return c, ""
		case is != "":
			r.why = is
		}
	}
	return "", r.why
}
