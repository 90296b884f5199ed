package gather

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/join"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Join joins the modules of p that have the same name. If builds differ in a function,
// the one whose profile or map is first among paths is used.
func Join(s *verb.Streams, p *prof.Profile, paths []string) (*prof.Profile, error) {
	rank := buildRanks(s, paths)
	modules := slices.Clone(p.Modules)
	stablesort.Func(modules, func(a, b prof.Module) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(rank[a.BuildID], rank[b.BuildID]))
	})
	joined := new(prof.Profile)
	for len(modules) > 0 {
		n := 1
		for n < len(modules) && modules[n].Module == modules[0].Module {
			n++
		}
		res, err := join.Modules(modules[:n])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", modules[0].Module, err)
		}
		if res.Changed > 0 {
			verb.Note(s, "%s: %s omitted: code differs from that of the build named first", modules[0].Module, report.Plural(res.Changed, "function"))
		}
		if res.Unknown > 0 {
			verb.Note(s, "%s: %s are in functions without probes and are unknown", modules[0].Module, report.Plural(res.Unknown, "first caller"))
		}
		joined.Modules = append(joined.Modules, res.Module)
		modules = modules[n:]
	}
	return joined, nil
}

// buildRanks returns the position at which each build is first named. Files that cannot be
// read have been reported before.
func buildRanks(s *verb.Streams, paths []string) map[prof.BuildID]int {
	rank := make(map[prof.BuildID]int)
	add := func(id prof.BuildID, i int) {
		if _, ok := rank[id]; !ok {
			rank[id] = i + 1
		}
	}
	for i, path := range paths {
		if p, err := verb.ReadProfile(path); err == nil {
			for k := range p.Modules {
				add(p.Modules[k].BuildID, i)
			}
		} else if m, err := ReadMap(s, path); err == nil {
			add(m.BuildID, i)
		}
	}
	return rank
}
