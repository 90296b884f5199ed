// Package prove checks that an object with probes has the same effect as the object without them. It does not
// depend on how the probes were placed: it decodes the two objects that the assembler made and compares them.
// Objects with probes are for x86-64; layouts (see Layouts) also for AArch64.
//
// An object is proved function by function:
//
//   - The instructions are the same, one for one, except for probes and padding.
//     Branches, tables of jumps and pointers lead to the same instruction, or to the
//     probe before it, never into one.
//   - A conditional branch may be the inverted one, past a probe and a jump to where it
//     led.
//   - A probe is one of the known forms and touches a byte or a counter of the
//     records that no other probe touches. A probe that changes the flags is where the
//     code after it writes each flag before it reads it, by a search over the plain
//     code, and one that overwrites a register where the code after it overwrites the
//     register before it reads it; a probe that may call is at the start of its
//     function, where nothing is below the stack pointer.
//   - The unwind table has for each instruction, and for each instruction of a probe
//     before it, the row that the plain object has; an exception finds the same landing
//     pads and handlers.
//   - All other sections that are loaded have the same bytes and relocations, and all
//     symbols have the same meaning.
//
// The routines of the runtime that probes call are not examined: they save all registers, which other tests
// check.
//
// A function that is not proved is either different, and the finding gives the place, or contains something
// that this package cannot follow, and the finding names that.
package prove

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Certificate reports what was proved of an object.
type Certificate struct {
	Functions    int       `json:"functions"`    // symbols of code
	Proved       int       `json:"proved"`       // functions without a finding
	Instructions int       `json:"instructions"` // of the plain object that have their twin
	Probes       int       `json:"probes"`       // that were found harmless
	Findings     []Finding `json:"findings,omitempty"`
}

// Finding is the reason why a function is not proved. Each function has one, the first.
type Finding struct {
	Function  string `json:"function"`  // "" for the whole object
	Different bool   `json:"different"` // otherwise it is unknown
	Why       string `json:"why"`
}

// Different reports whether there is a forbidden difference.
func (c *Certificate) Different() bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Different })
}

// Objects compares an object with probes with the plain one of the same source.
func Objects(plain, probed *objfile.Relocatable) Certificate {
	p := &prover{a: newObject(plain), b: newObject(probed), found: map[*segment]Finding{}, records: map[uint64]bool{}}
	if p.pairSections(ours, "") {
		p.run()
	}
	return p.certificate(p.segments)
}

// prover holds the two objects, a without and b with probes, and the findings.
type prover struct {
	a, b  *object
	codes map[int]*code // pairs of code sections, by number in a
	order []*code
	// later are branches and pointers into code, which are judged when all code is paired.
	later   []reference
	found   map[*segment]Finding
	whole   *Finding        // of the whole object
	records map[uint64]bool // bytes of records that a probe touches
	// By section: places in data that code refers to, where tables begin; and places in code that data refers
	// to. Both are ascending offsets of a.
	bases, interior map[int][]int64
	parts           map[string][]codeSegment       // of each function, see indirect
	uneven          func(section int, a, b []byte) // what is done about other contents of data; nil: they are a difference
	probes          int
	insns           int
}

// reference is a place in code that both objects refer to.
type reference struct {
	from *segment // nil: a section of data
	what string
	a, b place
}

// place is an offset in a section.
type place struct {
	section int
	off     int64
}

func (p *prover) run() {
	p.order = p.pairCode()
	p.bases = p.findBases()
	p.interior = p.findInterior()
	for _, c := range p.order {
		for i := range c.segments {
			p.walk(c, &c.segments[i])
		}
	}
	p.compareData()
	p.compareSymbols()
	p.compareFrames()
	for _, r := range p.later {
		p.checkReference(r)
	}
}

// checkReference records a reference with different targets in the objects.
func (p *prover) checkReference(r reference) {
	c := p.codes[r.a.section]
	if c != nil && r.b.section == c.b && c.leads(r.a.off, r.b.off) {
		return
	}
	if c != nil {
		if s := c.at(r.a.off); s != nil {
			if _, open := p.found[s]; open {
				// Its instructions are not paired: that is the finding. Its start is known.
				if r.from != nil && s != r.from && r.a.off != s.a.lo {
					p.unknown(r.from, "%s leads into %s, which is not proved", r.what, s.name)
				}
				return
			}
		}
	}
	p.differ(r.from, "%s leads elsewhere: to %#x, which is %#x with probes", r.what, r.a.off, r.b.off)
}

// differ records a difference in a function, nil for the whole object.
func (p *prover) differ(s *segment, format string, args ...any) { p.note(s, true, format, args...) }

// unknown records that something cannot be followed.
func (p *prover) unknown(s *segment, format string, args ...any) { p.note(s, false, format, args...) }

func (p *prover) note(s *segment, different bool, format string, args ...any) {
	f := Finding{Different: different, Why: fmt.Sprintf(format, args...)}
	if s == nil {
		if p.whole == nil || different && !p.whole.Different {
			p.whole = &f
		}
		return
	}
	f.Function = s.name
	if old, ok := p.found[s]; !ok || different && !old.Different {
		p.found[s] = f
	}
}

// certificate returns what was found of the whole object and of each segment.
func (p *prover) certificate(segments iter.Seq[*segment]) Certificate {
	c := Certificate{Instructions: p.insns, Probes: p.probes}
	if p.whole != nil {
		c.Findings = append(c.Findings, *p.whole)
	}
	for s := range segments {
		c.Functions++
		if f, ok := p.found[s]; ok {
			c.Findings = append(c.Findings, f)
		} else {
			c.Proved++
		}
	}
	if p.whole != nil && p.whole.Different {
		c.Proved = 0
	}
	return c
}

// segments yields the segments of all code.
func (p *prover) segments(yield func(*segment) bool) {
	for _, code := range p.order {
		for i := range code.segments {
			if !yield(&code.segments[i]) {
				return
			}
		}
	}
}

// object is an object with indexes.
type object struct {
	*objfile.Relocatable
	relocs []map[uint64]*objfile.Reloc // of each section, by offset
	pair   []int                       // of each section, its number in the other object
}

func newObject(r *objfile.Relocatable) *object {
	o := &object{Relocatable: r, relocs: make([]map[uint64]*objfile.Reloc, len(r.Sections))}
	for i := range r.Sections {
		s := &r.Sections[i]
		// The order of the table is the assembler's.
		sort.SliceStable(s.Relocs, func(i, k int) bool { return s.Relocs[i].Off < s.Relocs[k].Off })
		s.Relocs = slices.DeleteFunc(s.Relocs, func(r objfile.Reloc) bool { return r.Type == relNone || r.Type == relOldNone })
		o.relocs[i] = make(map[uint64]*objfile.Reloc, len(s.Relocs))
		for k := range s.Relocs {
			o.relocs[i][s.Relocs[k].Off] = &s.Relocs[k]
		}
	}
	return o
}

// ours reports whether a section belongs to probes.
func ours(name string) bool {
	switch name {
	case "cairn_raw", "cairn_order", ".rodata.cairn", ".debug.cairn":
		return true
	}
	return false
}

// pairSections finds for each loaded section of a the one of b: the n-th of its name. Those of b with names that are ignored
// belong to probes. If moved is not "", code may be in sections whose names begin with it.
func (p *prover) pairSections(ignored func(name string) bool, moved string) bool {
	p.a.pair, p.b.pair = make([]int, len(p.a.Sections)), make([]int, len(p.b.Sections))
	byName := map[string][]int{}
	for i, s := range p.b.Sections {
		if s.Alloc && !ignored(s.Name) {
			byName[s.Name] = append(byName[s.Name], i)
		}
	}
	for i, s := range p.a.Sections {
		if !s.Alloc {
			continue
		}
		of := byName[s.Name]
		if len(of) == 0 {
			if moved != "" && s.Code {
				continue // its functions may be in a section of moved code
			}
			p.differ(nil, "section %s is missing", s.Name)
			return false
		}
		p.a.pair[i], p.b.pair[of[0]] = of[0], i
		byName[s.Name] = of[1:]
		if t := &p.b.Sections[of[0]]; t.Flags != s.Flags || t.Code != s.Code || (t.Data == nil) != (s.Data == nil) {
			p.differ(nil, "section %s is of another kind", s.Name)
			return false
		}
	}
	for i := range p.b.Sections {
		s := &p.b.Sections[i]
		if slices.Contains(byName[s.Name], i) && !(moved != "" && s.Code && strings.HasPrefix(s.Name, moved)) {
			p.differ(nil, "section %s is new", s.Name)
			return false
		}
	}
	return true
}
