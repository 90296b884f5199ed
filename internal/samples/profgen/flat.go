package profgen

import (
	"maps"
	"slices"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// FlatByProbes makes a profile without contexts that is keyed by pseudo probes, from counts
// that were made without stacks.
func FlatByProbes(r *unwind.Result, p *Probes) sampleprof.Profile {
	out := sampleprof.Profile{}
	for i := range r.Contexts {
		c := &r.Contexts[i]
		for _, piece := range disjoint(withFunctions(p.code, c.Ranges)) {
			p.between(piece.From, piece.To, func(x probe) {
				s := p.samples(out, x)
				add(s, x.get(), piece.Count)
				if x.get().IsEntry() {
					s.Head += piece.Count
				}
			})
		}
		for _, b := range c.Branches {
			name := p.entered(b.To)
			if x, ok := p.call(b.From); ok && name != "" {
				p.samples(out, x).At(place(x.get())).Call(name, b.Count)
			}
		}
	}
	finish(out)
	return out
}

// samples returns the samples of the function of a probe, nested in those that it was inlined
// into.
func (p *Probes) samples(out sampleprof.Profile, x probe) *sampleprof.Samples {
	var s *sampleprof.Samples
	stack := x.in.expand(nil, x.index)
	guids := x.in.guids(x, len(stack))
	for i, f := range stack {
		if i == 0 {
			s = out.Func(f.Func)
		} else {
			s = s.Inline(stack[i-1].Call, f.Func)
		}
		s.Probes, s.Checksum = true, x.in.funcs.Checksum(guids[i])
	}
	return s
}

// guids returns the functions of the innermost n frames of a probe, outermost first.
func (b *binaryProbes) guids(x probe, n int) []uint64 {
	out := make([]uint64, n)
	c := x.copy()
	for i := n - 1; i >= 0; i-- {
		out[i] = c.GUID
		if c.Inlined() {
			c = &b.table.Copies[c.Parent]
		}
	}
	return out
}

// withFunctions adds all ranges of the functions in which ranges begin, with a count of zero:
// code of such a function that did not run is known not to have run.
func withFunctions(code *machinecode.Set, ranges []unwind.Count) []unwind.Count {
	type function struct {
		in    *machinecode.Binary
		index int
	}
	met := map[function]bool{}
	for _, r := range ranges {
		b := code.Binary(r.From)
		if fr := b.RangeAt(code.Address(r.From)); fr != nil {
			met[function{b, fr.Function}] = true
		}
	}
	out := slices.Clone(ranges)
	for _, b := range code.Binaries() {
		for _, fr := range b.Ranges() {
			if !met[function{b, fr.Function}] {
				continue
			}
			if first, last := b.From(fr.Lo), b.From(fr.Hi)-1; first <= last {
				out = append(out, unwind.Count{From: first, To: last})
			}
		}
	}
	return out
}

// AllFunctions adds all functions to counts that were made without stacks, as if their
// instructions were known not to have run.
func AllFunctions(r *unwind.Result, code *machinecode.Set) {
	if len(r.Contexts) == 0 {
		r.Contexts = []unwind.Context{{}}
	}
	for _, b := range code.Binaries() {
		for _, fr := range b.Ranges() {
			if first := b.From(fr.Lo); first < b.From(fr.Hi) {
				r.Contexts[0].Ranges = append(r.Contexts[0].Ranges, unwind.Count{From: first, To: first})
			}
		}
	}
}

// finish raises the counts of calls if more branches than executions of the code before them
// were observed: there is no code after the newest branch of a sample.
func finish(p sampleprof.Profile) {
	for _, s := range p {
		s.RaiseCalls()
	}
	DropAmbiguous(p)
}

// DropAmbiguous drops functions that compilers could not distinguish by name.
func DropAmbiguous(p sampleprof.Profile) {
	maps.DeleteFunc(p, func(name string, _ *sampleprof.Samples) bool { return ambiguous(name) })
	for _, s := range p {
		dropInlined(s)
	}
}

// dropInlined does the same for inlined functions. Totals do not change.
func dropInlined(s *sampleprof.Samples) {
	for _, copies := range s.Inlined {
		for name, c := range copies {
			if !ambiguous(name) {
				dropInlined(c)
				continue
			}
			s.AddTotal(0)
			delete(copies, name)
		}
	}
}
