package export

import (
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/prof"
)

// LLVMSample returns m as a sample profile. Heads are the calls of functions. Each line of a
// block has the block's count, nested in the call sites at which its code was inlined; for a
// function without block coverage only the lines at its entry are known. If several blocks
// have the same location the maximum count is used; functions with the same name, such as
// clones, are summed.
func LLVMSample(m *prof.Module, src Source, sites []Site) sampleprof.Profile {
	s := sampler{m: m, src: src, names: make([]string, len(m.Funcs))}
	for i := range m.Funcs {
		s.names[i] = funcName(&m.Funcs[i], src)
	}
	counts := blockCounts(m, sites)
	calls := make([][]Site, len(m.Funcs))
	for _, site := range sites {
		calls[site.Caller] = append(calls[site.Caller], site)
	}
	p := sampleprof.Profile{}
	for i := range m.Funcs {
		one := &sampleprof.Samples{}
		if ran(m, i) {
			one.Head = weight(m, i)
			s.lines(one, i, counts[i])
			s.calls(one, calls[i])
		}
		p.Func(s.names[i]).Add(one)
	}
	return p
}

type sampler struct {
	m     *prof.Module
	src   Source
	names []string // linkage names of the functions, parallel to m.Funcs
}

// lines adds the lines of the blocks of function i.
func (s *sampler) lines(to *sampleprof.Samples, i int, counts []uint64) {
	f := &s.m.Funcs[i]
	for b := range coverage.Blocks(f) {
		if !f.Mode.HasBlocks() {
			if b.Lo != f.Addr() {
				continue
			}
			b.Hi = b.Lo + 1
		}
		for addr := range s.src.Rows(b.Lo, b.Hi) {
			if l := line(to, s.src.Frames(addr)); l != nil {
				l.Count = max(l.Count, counts[b.Index])
			}
		}
	}
}

// calls adds the calls at the sites of a function.
func (s *sampler) calls(to *sampleprof.Samples, sites []Site) {
	for _, site := range sites {
		if l := line(to, s.src.Frames(site.Addr)); l != nil && site.Count > 0 {
			l.Count = max(l.Count, site.Count)
			l.Call(s.names[site.Callee], site.Count)
		}
	}
}

// line returns the location in s, or in a copy inlined into it, that frames describe, or nil
// if they are incomplete.
func line(s *sampleprof.Samples, frames []Frame) *sampleprof.Line {
	for k := range frames {
		f := &frames[k]
		if f.Start == 0 || f.Line == 0 {
			return nil
		}
		at := sampleprof.Place{
			Offset:        uint32(uint16(f.Line - f.Start)),
			Discriminator: sampleprof.BaseDiscriminator(f.Discriminator),
		}
		if k == len(frames)-1 {
			return s.At(at)
		}
		s = s.Inline(at, frames[k+1].Func)
	}
	return nil
}

// suffixes are appended by compilers to the names of clones and parts of a function. A sample
// profile has them all under the function's own name.
var suffixes = []string{".llvm.", ".part.", ".isra.", ".constprop.", ".lto_priv.", ".cold", ".clone."}

// funcName returns the name that a compiler knows f by.
func funcName(f *prof.Func, src Source) string {
	if frames := src.Frames(f.Addr()); len(frames) > 0 && frames[0].Func != "" {
		return frames[0].Func
	}
	name := f.Name
	for _, s := range suffixes {
		name, _, _ = strings.Cut(name, s)
	}
	return name
}
