package objfile

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ErrNoScopes: neither the module nor a separate debug file says what was
// inlined where. Its line tables may be there all the same.
var ErrNoScopes = errors.New("no debug information of functions (compile with -g, without -gsplit-dwarf)")

const (
	maxScopes      = 1 << 24 // functions and inlined copies of a module
	maxScopeRanges = 1 << 25 // ranges of all of them
	maxOriginSteps = 8       // references from a copy to what has its name
	maxScopeDepth  = 1 << 10 // entries inside each other

	attrGNUDiscriminator dwarf.Attr = 0x2136
)

// Scope is a function in the code, or the copy of one that was inlined.
type Scope struct {
	Name   string // linkage name, or else the name in the source
	Line   int    // of its definition; 0 if not known
	Parent int    // index of the scope it was inlined into; -1 for a function
	// CallLine and CallDiscriminator are where Parent called it.
	CallLine          int
	CallDiscriminator uint32
	// Unit and CallFile are the file of that call, see SourceFiles.
	Unit     uint32 // offset in .debug_line
	CallFile int32
	// Plain says that the compiler did not optimise, as gcc writes down.
	Plain bool
}

// ScopeTable maps addresses of a module to functions and what was inlined into
// them. It is immutable.
type ScopeTable struct {
	scopes    []Scope
	pieces    []scopePiece // ascending by addr
	functions []ScopeRange // in the order of the entries
}

// scopePiece says that from addr to the next piece's a scope is the innermost;
// -1 is none.
type scopePiece struct {
	addr  uint64
	scope int
}

// At returns the scopes that hold addr, the function first, then what was
// inlined into it, outermost first. It is empty outside of all functions.
func (t *ScopeTable) At(addr uint64) []Scope {
	k := t.piece(addr)
	if k < 0 {
		return nil
	}
	return t.stack(t.pieces[k].scope)
}

// piece returns the index of the piece that holds addr, -1 if it is before all.
func (t *ScopeTable) piece(addr uint64) int {
	k, found := slices.BinarySearchFunc(t.pieces, addr, func(p scopePiece, addr uint64) int { return cmp.Compare(p.addr, addr) })
	if !found {
		k--
	}
	return k
}

// stack returns a scope with those it is in, outermost first.
func (t *ScopeTable) stack(innermost int) (stack []Scope) {
	for i := innermost; i >= 0; i = t.scopes[i].Parent {
		stack = append(stack, t.scopes[i])
	}
	slices.Reverse(stack)
	return stack
}

// Pieces returns the parts of [lo, hi) which one innermost scope holds, ascending and
// without gaps, and what At returns of each.
func (t *ScopeTable) Pieces(lo, hi uint64) iter.Seq2[[2]uint64, []Scope] {
	return func(yield func([2]uint64, []Scope) bool) {
		for k := t.piece(lo); lo < hi; k++ {
			end, innermost := hi, -1
			if k+1 < len(t.pieces) {
				end = min(hi, t.pieces[k+1].addr)
			}
			if k >= 0 {
				innermost = t.pieces[k].scope
			}
			if !yield([2]uint64{lo, end}, t.stack(innermost)) {
				return
			}
			lo = end
		}
	}
}

// Scopes returns the functions of the module and what was inlined into them,
// from the module itself or its separate debug file. Where there is nothing of
// the kind the error is ErrNoScopes, with the path in front.
func (f *File) Scopes() (*ScopeTable, error) { return f.scopes() }

func (f *File) loadScopes() (t *ScopeTable, err error) {
	from := f
	if f.elf.Section(".debug_info") == nil {
		d, err := f.openDebug()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, ErrNoScopes)
		}
		defer d.Close()
		from = d
	}
	defer func() {
		if err != nil {
			t, err = nil, fmt.Errorf("%s: .debug_info: %w", from.path, err)
		}
	}()
	defer recoverTo(&err, "damaged")
	data, size, err := from.dwarf()
	if err != nil {
		return nil, err
	}
	r := scopeReader{data: data, size: size, origins: map[dwarf.Offset]origin{}}
	if err := r.read(); err != nil {
		return nil, err
	}
	if len(r.scopes) == 0 {
		return nil, ErrNoScopes
	}
	return &ScopeTable{r.scopes, flatten(r.ranges), r.functions}, nil
}

// dwarf gives the standard reader the sections that its entries and ranges
// need. Line tables stay away from it; the package comment says why. The size
// is that of the entries.
func (f *File) dwarf() (d *dwarf.Data, size int, err error) {
	sections := map[string][]byte{}
	for _, name := range []string{"abbrev", "info", "ranges", "str", "addr", "line_str", "rnglists", "str_offsets"} {
		data, _, _, _, err := f.Section(".debug_" + name)
		if err != nil {
			return nil, 0, err
		}
		sections[name] = data
	}
	d, err = dwarf.New(sections["abbrev"], nil, nil, sections["info"], nil, nil, sections["ranges"], sections["str"])
	if err != nil {
		return nil, 0, err
	}
	for _, name := range []string{"addr", "line_str", "rnglists", "str_offsets"} {
		if err := d.AddSection(".debug_"+name, sections[name]); err != nil {
			return nil, 0, err
		}
	}
	return d, len(sections["info"]), nil
}

// scopeRange is a range of addresses of a scope.
type scopeRange struct {
	lo, hi uint64
	scope  int
	depth  int // 0 is a function
}

// origin is what entries refer to for the name and line of a function.
type origin struct {
	name string
	line int
}

type scopeReader struct {
	data      *dwarf.Data
	size      int // bytes of entries
	scopes    []Scope
	ranges    []scopeRange
	functions []ScopeRange
	origins   map[dwarf.Offset]origin
	unit      uint32 // offset of the line table of the unit at hand
	plain     bool   // that unit was compiled without optimisation
}

// read walks all entries.
func (s *scopeReader) read() error {
	r := s.data.Reader()
	var open []int // for each entry whose children are being read, the scope they are in
	// The standard reader can make empty entries of nothing without end. Real
	// ones take a byte at least.
	for steps := 0; ; steps++ {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		if steps > s.size {
			return fmt.Errorf("more entries than its %d bytes can hold", s.size)
		}
		if e.Tag == 0 {
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
			continue
		}
		in := -1
		if len(open) > 0 {
			in = open[len(open)-1]
		}
		scope, err := s.entry(e, in)
		if err != nil {
			return err
		}
		if e.Children {
			if open = append(open, scope); len(open) > maxScopeDepth {
				return fmt.Errorf("entries at offset %#x lie more than %d deep", e.Offset, maxScopeDepth)
			}
		}
	}
}

// entry returns the scope that the children of e, which is in scope in, are in.
func (s *scopeReader) entry(e *dwarf.Entry, in int) (int, error) {
	switch {
	case e.Tag == dwarf.TagCompileUnit:
		line, _ := e.Val(dwarf.AttrStmtList).(int64)
		s.unit = uint32(line)
		producer, _ := e.Val(dwarf.AttrProducer).(string)
		s.plain = plainProducer(producer)
		return -1, nil
	case e.Tag == dwarf.TagSubprogram:
		in = -1
	case e.Tag == dwarf.TagInlinedSubroutine && in >= 0:
	default:
		return in, nil // a block of a function, or what has nothing to do with one
	}
	ranges, err := s.data.Ranges(e)
	if err != nil || len(ranges) == 0 {
		// A declaration, the abstract instance of an inlined function, or
		// damage, which costs this scope only.
		return in, nil
	}
	o := s.origin(e, maxOriginSteps)
	if o.name == "" {
		return in, nil
	}
	depth := 0
	for i := in; i >= 0; i = s.scopes[i].Parent {
		depth++
	}
	n := len(s.scopes)
	s.scopes = append(s.scopes, Scope{
		Name: o.name, Line: o.line, Parent: in,
		CallLine: number(e, dwarf.AttrCallLine), CallDiscriminator: uint32(number(e, attrGNUDiscriminator)),
		Unit: s.unit, CallFile: int32(number(e, dwarf.AttrCallFile)), Plain: s.plain,
	})
	for _, r := range ranges {
		// Address 0 marks what the linker dropped.
		if r[0] != 0 && r[0] < r[1] {
			s.ranges = append(s.ranges, scopeRange{r[0], r[1], n, depth})
			if depth == 0 {
				s.functions = append(s.functions, ScopeRange{o.name, r[0], r[1]})
			}
		}
	}
	if len(s.scopes) > maxScopes || len(s.ranges) > maxScopeRanges {
		return 0, fmt.Errorf("more than %d functions or %d ranges", maxScopes, maxScopeRanges)
	}
	return n, nil
}

// plainProducer reports whether what a compiler says of itself in a unit has its options
// and none that optimises. Only gcc has them unless it is told to.
func plainProducer(producer string) bool {
	options := strings.Fields(producer)
	if len(options) < 2 || options[0] != "GNU" {
		return false
	}
	said, plain := false, true
	for _, o := range options[1:] {
		said = said || strings.HasPrefix(o, "-m") // as it always has -mtune
		if strings.HasPrefix(o, "-O") {
			plain = o == "-O0"
		}
	}
	return said && plain
}

// origin returns the name and line of e, from e itself or from the entries it
// refers to. The definition of a function says only what its declaration does
// not.
func (s *scopeReader) origin(e *dwarf.Entry, steps int) origin {
	var o origin
	o.name, _ = e.Val(dwarf.AttrLinkageName).(string)
	o.line = number(e, dwarf.AttrDeclLine)
	plain, _ := e.Val(dwarf.AttrName).(string)
	for _, attr := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
		ref, ok := e.Val(attr).(dwarf.Offset)
		if !ok || steps == 0 || o.name != "" && o.line != 0 {
			continue
		}
		from, ok := s.origins[ref]
		if !ok {
			r := s.data.Reader()
			r.Seek(ref)
			if target, err := r.Next(); err == nil && target != nil {
				from = s.origin(target, steps-1)
			}
			s.origins[ref] = from
		}
		o.name, o.line = cmp.Or(o.name, from.name), cmp.Or(o.line, from.line)
	}
	o.name = cmp.Or(o.name, plain)
	return o
}

// number returns an attribute that is a small number, or 0.
func number(e *dwarf.Entry, attr dwarf.Attr) int {
	if n, ok := e.Val(attr).(int64); ok && n > 0 && n < 1<<31 {
		return int(n)
	}
	return 0
}

// flatten cuts ranges that lie inside each other into pieces that do not.
func flatten(ranges []scopeRange) []scopePiece {
	slices.SortStableFunc(ranges, func(a, b scopeRange) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.depth, b.depth), cmp.Compare(b.hi, a.hi))
	})
	var pieces []scopePiece
	var open []scopeRange
	start := func(addr uint64, scope int) {
		if n := len(pieces); n > 0 && pieces[n-1].addr == addr {
			pieces[n-1].scope = scope
			return
		}
		pieces = append(pieces, scopePiece{addr, scope})
	}
	closeUntil := func(addr uint64) {
		for n := len(open); n > 0 && open[n-1].hi <= addr; n = len(open) {
			hi, outer := open[n-1].hi, -1
			open = open[:n-1]
			if n > 1 {
				outer = open[n-2].scope
			}
			start(hi, outer)
		}
	}
	for _, r := range ranges {
		closeUntil(r.lo)
		if n := len(open); n > 0 {
			r.hi = min(r.hi, open[n-1].hi)
		}
		open = append(open, r)
		start(r.lo, r.scope)
	}
	closeUntil(^uint64(0))
	return pieces
}
