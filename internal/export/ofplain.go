package export

import (
	"path"

	"github.com/cairnprof/cairn/prof"
)

// OfPlain returns m with the code of a build without probes, whose map is plain (cairn build --map): its functions are those
// of m that have the same name, source file and control flow there, with their counts. Missing is the number of functions that
// ran and are not among them. Blocks are numbered alike, as in modes with edges.
func OfPlain(m *prof.Module, plain *prof.Map) (of *prof.Module, missing int) {
	type key struct {
		name, file string
		signature  uint32
		blocks     int
	}
	// Builds may name a file by different paths; then its base name has to do.
	keysOf := func(f *prof.Func) [2]key {
		k := key{f.Name, f.File, f.Signature, f.NumBlocks()}
		byBase := k
		byBase.file = path.Base(f.File)
		return [2]key{k, byBase}
	}
	functions := map[key][]int{}
	for i := range m.Funcs {
		if m.Funcs[i].Mode.HasEdges() {
			keys := keysOf(&m.Funcs[i])
			functions[keys[0]] = append(functions[keys[0]], i)
			if keys[1] != keys[0] {
				functions[keys[1]] = append(functions[keys[1]], i)
			}
		}
	}
	of = &prof.Module{Map: *plain, Raws: m.Raws, Counts: make([]prof.Counts, len(plain.Funcs))}
	found := map[int]bool{}
	for i := range of.Funcs {
		f, c := &plain.Funcs[i], &of.Counts[i]
		c.Blocks, c.Times = make([]uint64, f.NumBlocks()-1), make([]uint64, f.NumBlocks()-1)
		keys := keysOf(f)
		same := functions[keys[0]]
		if len(same) == 0 {
			same = functions[keys[1]]
		}
		if len(same) != 1 {
			continue // none, or copies that cannot be told apart
		}
		from := same[0]
		found[from] = true
		*c = m.Counts[from]
		c.OrderSum, c.Callers = 0, nil // those are of the other code
	}
	for i := range m.Funcs {
		if ran(m, i) && !found[i] {
			missing++
		}
	}
	return of, missing
}
