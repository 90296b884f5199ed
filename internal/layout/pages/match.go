package pages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Match maps the functions of a map to those of a layout.
type Match struct {
	Funcs []int // parallel to Map.Funcs: index into Layout.Funcs, or -1
	// Guessed is the number of functions with the same name as others that could not be
	// distinguished by size.
	Guessed int
}

// Same returns the match for a layout that FromMap made of m.
func Same(m *prof.Map) *Match {
	match := &Match{Funcs: make([]int, len(m.Funcs))}
	for i := range match.Funcs {
		match.Funcs[i] = i
	}
	return match
}

// MatchNames finds the functions of m in the layout of another link of the same program, by
// symbol name. Static functions with equal names are distinguished by size, and then by the
// rank of their size. If nothing else matches, the numbers that compilers append to clones
// (f.constprop.0) may differ.
func MatchNames(m *prof.Map, l *Layout) *Match {
	match := &Match{Funcs: make([]int, len(m.Funcs))}
	there := l.byName()
	here := map[string][]int{}
	var names []string // in the order of the map
	for i := range m.Funcs {
		match.Funcs[i] = -1
		name := m.Funcs[i].Name
		if here[name] == nil {
			names = append(names, name)
		}
		here[name] = append(here[name], i)
	}
	clones := map[string][]int{}
	taken := map[int]bool{}
	for _, name := range names {
		if fs := there[name]; len(fs) > 0 {
			match.pair(m, l, here[name], fs)
			for _, f := range fs {
				taken[f] = true
			}
		} else if s := stem(name); len(here[name]) == 1 {
			clones[s] = append(clones[s], here[name]...)
		}
	}
	match.pairClones(l, clones, taken)
	return match
}

// pair matches functions with the same name.
func (match *Match) pair(m *prof.Map, l *Layout, here, there []int) {
	if len(here) == 1 && len(there) == 1 {
		match.Funcs[here[0]] = there[0]
		return
	}
	sizeHere := func(f int) uint64 { return uint64(m.Funcs[f].Fragments[0].Size) }
	sizeThere := func(f int) uint64 { return l.Funcs[f].Spans[0].Size }
	there = slices.Clone(there)
	var left []int
	for _, f := range here {
		same := func(g int) bool { return sizeThere(g) == sizeHere(f) }
		if k := slices.IndexFunc(there, same); k >= 0 {
			match.Funcs[f] = there[k]
			if slices.ContainsFunc(there[k+1:], same) {
				match.Guessed++
			}
			there = slices.Delete(there, k, k+1)
		} else {
			left = append(left, f)
		}
	}
	stablesort.Func(left, func(a, b int) int { return cmp.Compare(sizeHere(a), sizeHere(b)) })
	stablesort.Func(there, func(a, b int) int { return cmp.Compare(sizeThere(a), sizeThere(b)) })
	for k, f := range left[:min(len(left), len(there))] {
		match.Funcs[f] = there[k]
		match.Guessed++
	}
}

// pairClones matches functions with equal stems, if there is one on each side.
func (match *Match) pairClones(l *Layout, clones map[string][]int, taken map[int]bool) {
	if len(clones) == 0 {
		return
	}
	there := map[string][]int{}
	for i := range l.Funcs {
		if s := stem(l.Funcs[i].Name); !taken[i] && clones[s] != nil {
			there[s] = append(there[s], i)
		}
	}
	for s, fs := range there {
		if here := clones[s]; len(here) == 1 && len(fs) == 1 {
			match.Funcs[here[0]] = fs[0]
		}
	}
}

// cloneSuffixes are followed by a number or hash that may differ in another build.
var cloneSuffixes = []string{".constprop.", ".isra.", ".part.", ".lto_priv.", ".llvm."}

// stem returns the name without the numbers of clones. The kind of a clone remains: f.part is
// not f.
func stem(name string) string {
	for _, suffix := range cloneSuffixes {
		head, tail, ok := strings.Cut(name, suffix)
		if !ok || head == "" {
			continue
		}
		if end := strings.IndexByte(tail, '.'); end >= 0 {
			tail = tail[end:]
		} else {
			tail = ""
		}
		name = head + strings.TrimSuffix(suffix, ".") + tail
	}
	for _, promoted := range []string{".lto_priv", ".llvm"} {
		name = strings.TrimSuffix(name, promoted)
	}
	return name
}
