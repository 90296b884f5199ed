package samples

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// ran is a file of which code was mapped in a process with samples.
type ran struct {
	path, id string
	samples  uint64 // in its code; callers are not counted
	mapped   uint64 // of the processes that mapped it
}

// maxRan limits the files that are looked for.
const maxRan = 256

// FindBinaries returns the files on this machine whose code ran when samples were taken, by the
// paths and build ids of mappings: those that the samples are in come first. It notes which
// are not here, or here in another build. The samples must be in files, as they are read twice.
func FindBinaries(ctx context.Context, s *verb.Streams, samples []string) ([]string, error) {
	paths, err := samplefile.Expand(samples)
	if err != nil {
		return nil, err
	}
	var all []*ran
	total := uint64(0)
	for _, path := range paths {
		n, err := ranIn(ctx, path, &all)
		if err != nil {
			return nil, err
		}
		total += n
	}
	slices.SortStableFunc(all, func(a, b *ran) int {
		switch {
		case a.samples != b.samples:
			return int(min(b.samples, 1<<32)) - int(min(a.samples, 1<<32))
		case a.mapped != b.mapped:
			return int(min(b.mapped, 1<<32)) - int(min(a.mapped, 1<<32))
		}
		return strings.Compare(a.path, b.path)
	})
	var found, missing []string
	for _, r := range all {
		path, why := r.here()
		switch {
		case path != "":
			if !slices.Contains(found, path) {
				found = append(found, path)
			}
		case r.samples > 0:
			missing = append(missing, fmt.Sprintf("%s (%s, %s of the samples)", r.path, why, report.Share(r.samples, total)))
		}
	}
	if len(found) == 0 {
		if len(missing) == 0 {
			return nil, errors.New("the samples do not say which files ran: name them with --binary")
		}
		return nil, fmt.Errorf("no file that ran is on this machine: name its copy with --binary: %s", strings.Join(missing, "; "))
	}
	if len(missing) > 0 {
		verb.Note(s, "without names, as the file that ran is not here (name its copy with --binary): %s", strings.Join(missing, "; "))
	}
	return found, nil
}

// ranIn adds the files of an input to a list, and returns its number of samples.
func ranIn(ctx context.Context, path string, all *[]*ran) (samples uint64, err error) {
	in, err := samplefile.Open(path, nil)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	files := mapped.NewProcesses(mapped.New(nil, nil))
	byFile := map[[2]string]*ran{}
	seen := map[int32]uint64{}
	for b, err := range in.Batches(ctx) {
		if err != nil {
			return 0, err
		}
		if len(b.Events) > 0 {
			count(files, seen, byFile, all)
			files.Apply(b.Events)
		}
		for i := range b.Samples {
			s := &b.Samples[i]
			samples += s.Count
			seen[s.PID] += s.Count
			if addr, ok := sampled(s); ok {
				if r := file(files.Spaces.Lookup(s.PID, addr), byFile, all); r != nil {
					r.samples += s.Count
				}
			}
		}
		b.Release()
	}
	count(files, seen, byFile, all)
	return samples, nil
}

// sampled returns the address of a sample outside of the kernel.
func sampled(s *sample.Sample) (addr uint64, ok bool) {
	const kernel = 1 << 63
	for _, a := range s.Stack {
		if a < kernel {
			return a, true
		}
	}
	if u := s.User; u != nil && len(u.Regs) > 0 {
		const x86IP, armPC = 8, 32
		if a, ok := u.Reg(x86IP); ok {
			return a, true
		}
		return u.Reg(armPC)
	}
	if len(s.Branches) > 0 {
		return s.Branches[0].To, s.Branches[0].To < kernel
	}
	return 0, false
}

// count adds the samples of processes to the files that they mapped.
func count(files *mapped.Processes, seen map[int32]uint64, byFile map[[2]string]*ran, all *[]*ran) {
	for pid, n := range seen {
		for _, m := range files.Spaces.Mappings(pid) {
			if r := file(m, byFile, all); r != nil {
				r.mapped += n
			}
		}
	}
	clear(seen)
}

// file returns the file of a mapping of code, nil if it has none.
func file(m *sample.Mapping, byFile map[[2]string]*ran, all *[]*ran) *ran {
	if m == nil || !m.Exec || mapped.Anonymous(m) || m.Path[0] == '[' {
		return nil
	}
	key := [2]string{m.Path, m.BuildID}
	r := byFile[key]
	if r == nil {
		i := slices.IndexFunc(*all, func(r *ran) bool { return r.path == m.Path && r.id == m.BuildID })
		if i < 0 {
			if len(*all) >= maxRan {
				return nil
			}
			i = len(*all)
			*all = append(*all, &ran{path: m.Path, id: m.BuildID})
		}
		r = (*all)[i]
		byFile[key] = r
	}
	return r
}

// here returns the path of a file, or why it cannot be used. perf keeps copies of files by their
// build ids.
func (r *ran) here() (path, why string) {
	of := mapped.Parse(r.path)
	candidates := []string{of.Path}
	const shortest = 4
	if home, err := os.UserHomeDir(); err == nil && len(r.id) > shortest {
		candidates = append(candidates, filepath.Join(home, ".debug", ".build-id", r.id[:2], r.id[2:], "elf"))
	}
	why = "not on this machine"
	for _, c := range candidates {
		if !filepath.IsAbs(c) {
			continue
		}
		switch usable, is := objfile.Usable(c, r.id); {
		case usable:
			return c, ""
		case is != "":
			why = is
		}
	}
	return "", why
}
