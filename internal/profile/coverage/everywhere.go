package coverage

import (
	"strings"

	"github.com/cairnprof/cairn/internal/binary/sourcename"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/prof"
)

// SourceID identifies a function of the source in all modules: several programs contain the functions of a library,
// and it ran if it did in one of them. The bodies of a constructor or destructor are one function.
type SourceID struct {
	File string
	Line int    // 0 without debug information
	Name string // see sourcefunc.OneBody
}

// SourceID returns the identity of a function of m. It has none if its file is only known by a relative name,
// which may be that of another file in another module.
func (m *Module) SourceID(src *sourcefunc.Func) (id SourceID, ok bool) {
	file, line := m.Definition(&m.Funcs[src.Funcs[0]])
	return SourceID{file, line, sourcefunc.OneBody(src.Name)}, line > 0 || sourcename.IsAbs(file) || strings.HasSuffix(file, ".go")
}

// RanAnywhere returns the functions that ran in any of the modules.
func RanAnywhere(modules []Module) map[SourceID]bool {
	ran := map[SourceID]bool{}
	for i := range modules {
		m := &modules[i]
		for _, src := range sourcefunc.Of(&m.Map) {
			if id, ok := m.SourceID(&src); ok && src.Ran(m.Module) {
				ran[id] = true
			}
		}
	}
	return ran
}

// sourceBlocks are the blocks of the functions of the source, by file. Equal functions in several modules count once.
type sourceBlocks map[blocksID][]bool

// blocksID identifies the code of a function.
type blocksID struct {
	source    SourceID
	signature uint32
	blocks    int
}

// add adds the blocks of a function and returns what they add to a tally: blocks that were not there, and those that
// are covered now.
func (s sourceBlocks) add(m *Module, src *sourcefunc.Func, f *prof.Func, c *prof.Counts) (t Tally) {
	source, ok := m.SourceID(src)
	if !ok || len(src.Funcs) > 1 { // variants have other blocks
		return FuncBlocks(f, c)
	}
	source.Name = src.Name // each body has its own
	id := blocksID{source, f.Signature, f.NumBlocks()}
	covered := s[id]
	if covered == nil {
		covered = make([]bool, id.blocks)
		s[id], t.Total = covered, id.blocks
	}
	for k := range covered {
		if !covered[k] && c.Covered(k) {
			covered[k] = true
			t.Covered++
		}
	}
	return t
}
