package toolchain

import (
	"github.com/cairnprof/cairn/internal/instrument/split"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/prof"
)

// ranked ranks the functions of the module called name, or of all modules, one after the other, if there is none, and
// the parts that are split off them. A part that the compiler took for cold, and that ran hot, has its place behind its
// function. The other parts come last, those that ran first: a run that differs from those of the profile needs some of
// them, and if they are adjacent, that touches fewer pages.
func (b *useBuild) ranked(p *prof.Profile, name string) ([]linkorder.Func, error) {
	graph := callgraph.Build(p, false)
	var funcs, warm, cold []linkorder.Func
	for _, i := range modulesNamed(p, name) {
		m := &p.Modules[i]
		in := order.FromModule(m, OrderEdges(graph, i, m))
		in.MarkHot(m)
		r, err := order.Compute(in, order.Algorithm(b.opts.Algorithm), order.Options{})
		if err != nil {
			return nil, err
		}
		ran := r.Ran(in)
		for n, f := range Listed(m, ran, false) {
			funcs = append(funcs, f)
			if b.opts.NoSplit {
				continue
			}
			switch fn := ran[n]; {
			case in.Funcs[fn].HotPart:
				funcs = append(funcs, compilersPart(f))
			case partRan(&m.Funcs[fn], &m.Counts[fn]):
				warm = append(warm, compilersPart(f))
			}
			cold = append(cold, coldParts(f)...)
		}
	}
	return append(append(funcs, warm...), cold...), nil
}

// modulesNamed returns the indexes of the modules called name, or of all if there is none.
func modulesNamed(p *prof.Profile, name string) (named []int) {
	var all []int
	for i := range p.Modules {
		all = append(all, i)
		if p.Modules[i].Module == name {
			named = append(named, i)
		}
	}
	if named == nil {
		return all
	}
	return named
}

// partRan reports whether a block ran that the compiler moved away from its function.
func partRan(f *prof.Func, c *prof.Counts) bool {
	for b := 1 + len(f.Fragments[0].Blocks); b < f.NumBlocks(); b++ {
		if c.Covered(b) {
			return true
		}
	}
	return false
}

// compilersPart returns the part that the compiler moved away from a function.
func compilersPart(f linkorder.Func) linkorder.Func {
	f.Sections = []string{".text.unlikely." + f.Name, ".text.split." + f.Name}
	f.Name += split.ColdSuffixes[0]
	return f
}

// coldParts returns the parts of a function that may be split off.
func coldParts(f linkorder.Func) (parts []linkorder.Func) {
	sections := append([]string{split.ColdSection + f.Name}, compilersPart(f).Sections...)
	for _, suffix := range split.ColdSuffixes {
		parts = append(parts, linkorder.Func{Name: f.Name + suffix, File: f.File, Sections: sections})
	}
	return parts
}
