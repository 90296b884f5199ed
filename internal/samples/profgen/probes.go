package profgen

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// Probes has the pseudo probes of the binaries of a run, for functions with samples.
type Probes struct {
	code *machinecode.Set
	of   []binaryProbes // parallel to the binaries
}

// binaryProbes are the probes of a binary.
type binaryProbes struct {
	table *pseudoprobe.Table
	funcs *pseudoprobe.Descriptions
}

// ReadProbes reads the probes of programs, from which code was made. Probes of functions that
// are not in the result are skipped: large binaries have tens of millions of probes, and
// samples cover few functions. If r is nil, no probes are skipped, for inference that can find
// functions without samples.
func ReadProbes(code *machinecode.Set, programs []*objfile.Program, r *unwind.Result) (*Probes, error) {
	p := &Probes{code: code}
	var met map[*machinecode.Binary]map[int]bool
	if r != nil {
		met = metFunctions(code, r, true)
	}
	for i, prog := range programs {
		b := code.Binaries()[i]
		var of binaryProbes
		var err error
		if of.funcs, err = pseudoprobe.ReadDescriptions(prog.Probed); err != nil {
			return nil, fmt.Errorf("%s: .pseudo_probe_desc: %w", prog.Path, err)
		}
		wanted := guidsOf(b, met[b])
		of.table, err = pseudoprobe.Read(prog.Probes, pseudoprobe.Options{
			Start: b.ProbeStart,
			Keep:  func(guid uint64) bool { return met == nil || wanted[guid] },
		})
		if err != nil {
			return nil, fmt.Errorf("%s: .pseudo_probe: %w", prog.Path, err)
		}
		p.of = append(p.of, of)
	}
	return p, nil
}

// HaveCalls reports whether all binaries that have probes have probes of calls. Compilers emit
// none without debug information, and contexts then have no callers.
func (p *Probes) HaveCalls() bool {
	for _, of := range p.of {
		if len(of.table.Probes) > 0 && !slices.ContainsFunc(of.table.Probes, func(x pseudoprobe.Probe) bool { return x.IsCall() }) {
			return false
		}
	}
	return true
}

// metFunctions returns the functions that have an instruction in the result, by index: those
// that ran, and with callers also those that were on stacks.
func metFunctions(code *machinecode.Set, r *unwind.Result, callers bool) map[*machinecode.Binary]map[int]bool {
	seen := make([]bool, code.Len())
	for i := range r.Contexts {
		c := &r.Contexts[i]
		if callers {
			for _, f := range c.Frames {
				seen[f] = true
			}
		}
		for _, x := range c.Ranges {
			seen[x.From] = true
		}
		for _, x := range c.Branches {
			seen[x.From], seen[x.To] = true, true
		}
	}
	met := map[*machinecode.Binary]map[int]bool{}
	for _, b := range code.Binaries() {
		met[b] = map[int]bool{}
		for x := b.First; x < b.End; x++ {
			if !seen[x] {
				continue
			}
			if fr := b.RangeAt(code.Address(x)); fr != nil {
				met[b][fr.Function] = true
			}
		}
	}
	return met
}

// guidsOf returns the GUIDs of all names of functions.
func guidsOf(b *machinecode.Binary, functions map[int]bool) map[uint64]bool {
	guids := map[uint64]bool{}
	for i := range functions {
		f := &b.Functions()[i]
		guids[pseudoprobe.GUID(f.Name)] = true
		for _, name := range f.Aliases {
			guids[pseudoprobe.GUID(name)] = true
		}
	}
	return guids
}

// probe is a probe of a binary.
type probe struct {
	in    *binaryProbes
	index uint32
}

func (p probe) get() *pseudoprobe.Probe { return &p.in.table.Probes[p.index] }
func (p probe) copy() *pseudoprobe.Copy { return &p.in.table.Copies[p.get().Copy] }

// at returns the probes of a binary.
func (p *Probes) at(r ref) *binaryProbes {
	b := p.code.Binary(r)
	for i, x := range p.code.Binaries() {
		if x == b {
			return &p.of[i]
		}
	}
	return nil
}

// call returns the probe of a call.
func (p *Probes) call(r ref) (probe, bool) {
	if !r.IsInstruction() {
		return probe{}, false
	}
	in := p.at(r)
	i, ok := in.table.CallAt(p.code.Address(r))
	return probe{in, i}, ok
}

// between calls visit with the probes at the instructions from first to last.
func (p *Probes) between(first, last ref, visit func(probe)) {
	in, b := p.at(first), p.code.Binary(first)
	for _, i := range in.table.Between(p.code.Address(first), p.code.Address(last)) {
		if b.At(in.table.Probes[i].Addr).IsInstruction() {
			visit(probe{in, i})
		}
	}
}

// entered returns the name of the function whose entry is at an instruction, or "" if there is
// none. If the function has several names, it is that of its probes, which the compiler uses.
func (p *Probes) entered(to ref) string {
	name := entered(p.code, to)
	if name == "" {
		return ""
	}
	b, in := p.code.Binary(to), p.at(to)
	r := b.RangeFrom(p.code.Address(to))
	if len(b.Functions()[r.Function].Aliases) == 0 {
		return name
	}
	probes := in.table.Between(r.Lo, r.Hi-1)
	if len(probes) == 0 {
		return name
	}
	c := &in.table.Copies[in.table.Probes[probes[0]].Copy]
	for c.Inlined() {
		c = &in.table.Copies[c.Parent]
	}
	return in.funcs.Name(c.GUID)
}
