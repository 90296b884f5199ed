package objfile

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/inlined"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// ErrNoScopes reports that neither the module nor a separate debug file has debug information
// of functions. There may still be line tables.
var ErrNoScopes = errors.New("no debug information of functions (compile with -g)")

const (
	maxScopes      = 1 << 24 // functions and inlined copies of a module
	maxScopeRanges = 1 << 25 // ranges of all functions
	maxScopeDepth  = 1 << 10 // nesting depth of entries
)

// Scope is a function in the code, or an inlined copy of one.
type Scope struct {
	Name   string // linkage name, or else the name in the source
	Line   int    // of its definition; 0 if not known
	decl   declFile
	Parent int // index of the scope it was inlined into; -1 for a function
	// CallLine and CallDiscriminator are the position of the call in Parent.
	CallLine          int
	CallDiscriminator uint32
	// Unit and CallFile identify the file of that call, see SourceFiles.
	Unit     uint32 // offset in .debug_line
	CallFile int32
	// Plain reports that the compiler did not optimise, as gcc records.
	Plain bool
	// Records reports that the compiler records each function that it inlined, even if no code of it is left there,
	// as gcc does.
	Records bool
	// Late reports that gcc made the code in the link: what it inlined is not recorded where no code of it is left.
	Late bool
	// Lists reports that the compiler is clang, whose units may have a list of what was inlined in them.
	Lists bool
	files *unit // the files of calls, if they are not in .debug_line
}

// ScopeTable maps addresses of a module to functions and inlined copies. It is immutable.
type ScopeTable struct {
	scopes    []Scope
	pieces    []scopePiece // ascending by addr
	functions []ScopeRange // in the order of the entries
	inlined   map[inlinedFunc]Scope
	unlisted  bool          // a unit of clang has no list of what it inlined
	listed    *inlined.List // of the others
}

// inlinedFunc is a function that was inlined.
type inlinedFunc struct {
	name string
	line int
}

// Inlined reports whether a function may have been inlined somewhere, as far as compilers record it: see Scope.Records
// and format/inlined. It is identified by name and line, as in a Scope. stem is the name in the list of clang's units.
func (t *ScopeTable) Inlined(name string, line int, stem string) bool {
	_, ok := t.inlined[inlinedFunc{name, line}]
	return ok || t.unlisted || t.listed.Lines(stem) != nil
}

// AllInlined returns the functions that were inlined, as far as the compiler records also those of which no code is left
// (Scope.Records), in any order: name and place of the definition.
func (t *ScopeTable) AllInlined() iter.Seq[Scope] { return maps.Values(t.inlined) }

// ListedInlined returns those that clang's units list. The line may be that of the bracket that begins the body.
func (t *ScopeTable) ListedInlined() []inlined.Def { return t.listed.Defs }

// InlinedCalls returns the lines of the calls of a function that clang inlined, by the name in its lists. It is not known
// if a unit of clang has none.
func (t *ScopeTable) InlinedCalls(stem string) (lines []int, known bool) {
	return t.listed.Lines(stem), !t.unlisted
}

// scopePiece has the innermost scope from addr to the next piece's address; -1 is none.
type scopePiece struct {
	addr  uint64
	scope int
}

// At returns the scopes that contain addr: the function first, then the inlined copies,
// outermost first. It is empty outside of all functions.
func (t *ScopeTable) At(addr uint64) []Scope {
	k := t.piece(addr)
	if k < 0 {
		return nil
	}
	return t.stack(t.pieces[k].scope)
}

// piece returns the index of the piece that contains addr, or -1 if it is before all pieces.
func (t *ScopeTable) piece(addr uint64) int {
	k, found := slices.BinarySearchFunc(t.pieces, addr, func(p scopePiece, addr uint64) int { return cmp.Compare(p.addr, addr) })
	if !found {
		k--
	}
	return k
}

// stack returns a scope and its enclosing scopes, outermost first.
func (t *ScopeTable) stack(innermost int) (stack []Scope) {
	for i := innermost; i >= 0; i = t.scopes[i].Parent {
		stack = append(stack, t.scopes[i])
	}
	slices.Reverse(stack)
	return stack
}

// Pieces returns the parts of [lo, hi) with one innermost scope, ascending and without gaps,
// with the result of At for each.
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

// Scopes returns the functions of the module and their inlined copies, from the module itself
// or its separate debug file. If there is no debug information, the error is ErrNoScopes,
// prefixed with the path.
func (f *File) Scopes() (*ScopeTable, error) { return f.scopes() }

func (f *File) loadScopes() (t *ScopeTable, err error) {
	from := f
	if f.pdb != "" {
		return f.loadPDBScopes()
	}
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
	var sections entrySections
	if err := sections.read(from.section); err != nil {
		return nil, err
	}
	r, err := newEntryReader(&sections)
	if err != nil {
		return nil, err
	}
	s := scopeReader{inlined: map[inlinedFunc]Scope{}}
	split := newSplitFiles(f.splitFile, f.path, from.path)
	if err := r.eachUnit(split, s.read); err != nil {
		return nil, err
	}
	f.missing = split.missing
	if len(s.scopes) == 0 && f.missing.Units > 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoScopes, f.missing)
	}
	if len(s.scopes) == 0 {
		return nil, ErrNoScopes
	}
	t = &ScopeTable{scopes: s.scopes, pieces: flatten(s.ranges), functions: s.functions, inlined: s.inlined}
	data, err := from.section(inlined.Section)
	if err != nil {
		return nil, err
	}
	if t.listed, err = inlined.Read(data); err != nil {
		return nil, fmt.Errorf("%s: %w", inlined.Section, err)
	}
	t.unlisted = s.clang > t.listed.Units
	return t, nil
}

// section returns the contents of a section, or nil if there is none.
func (f *File) section(name string) ([]byte, error) {
	data, _, _, _, err := f.Section(name)
	return data, err
}

// scopeRange is a range of addresses of a scope.
type scopeRange struct {
	lo, hi uint64
	scope  int
	depth  int // 0 is a function
}

// scopeReader collects the functions of the units of a module.
type scopeReader struct {
	scopes    []Scope
	ranges    []scopeRange
	functions []ScopeRange
	inlined   map[inlinedFunc]Scope
	clang     int // units that clang compiled

	// State for the current unit.
	reader  *entryReader
	unit    *entryUnit
	plain   bool  // it was compiled without optimisation
	records bool  // its compiler records each function that it inlined
	late    bool  // gcc made it in the link
	lists   bool  // it is clang
	files   *unit // the files of calls, nil for those in .debug_line of the module
	origins map[uint64]origin
}

// declFile is the file of a definition, by its number in a line table.
type declFile struct {
	unit  uint32 // offset in .debug_line
	index int32
	known bool
	files *unit // the line table, if it is not in .debug_line
}

// origin identifies an entry that has the name and the place of a function.
type origin struct {
	name string
	line int
	file declFile
}

// read walks the entries of a unit.
func (s *scopeReader) read(r *entryReader, u *entryUnit) error {
	if s.reader != r {
		s.origins = map[uint64]origin{}
	}
	s.reader, s.unit, s.plain, s.files = r, u, plainProducer(u.producer), r.ownFiles(u)
	s.records = strings.HasPrefix(u.producer, "GNU ")
	s.late = strings.HasPrefix(u.producer, "GNU GIMPLE")
	if s.lists = strings.Contains(u.producer, "clang version "); s.lists {
		s.clang++
	}
	var open []int // for each entry whose children are being read, the scope of the children
	for at := u.first; at < u.end; {
		if r.info[at] == 0 { // the end of a list of children
			open = open[:max(len(open)-1, 0)]
			at++
			continue
		}
		a, next := u.abbrevAt(r.info, at)
		if a == nil {
			return fmt.Errorf("the entry at offset %#x has no abbreviation", at)
		}
		scope := -1
		if len(open) > 0 {
			scope = open[len(open)-1]
		}
		if a.tag == tagSubprogram || a.tag == tagInlinedSubroutine {
			var err error
			if scope, err = s.function(a, next, scope); err != nil {
				return err
			}
		}
		if at = a.skip(r.info, next, u); at > u.end {
			return fmt.Errorf("the entry at offset %#x does not end in its unit", next)
		}
		if a.children {
			if open = append(open, scope); len(open) > maxScopeDepth {
				return fmt.Errorf("entries at offset %#x lie more than %d deep", at, maxScopeDepth)
			}
		}
	}
	return nil
}

// function returns the scope of the children of a function's entry, which is itself in scope
// in: the function's own scope, if it has code.
func (s *scopeReader) function(a *abbrev, at uint64, in int) (int, error) {
	if a.tag == tagSubprogram {
		in = -1
	} else if in < 0 {
		return in, nil
	}
	if !a.places { // a declaration, or the abstract instance of an inlined function
		if a.inlines {
			s.inline(a, at)
		}
		return in, nil
	}
	e, ok := s.reader.entry(s.unit, a, at)
	if !ok {
		return in, nil
	}
	o := s.origin(s.reader, s.unit, &e, maxOriginSteps)
	if o.name == "" {
		return in, nil
	}
	n, depth, ranges := len(s.scopes), 0, len(s.ranges)
	for i := in; i >= 0; i = s.scopes[i].Parent {
		depth++
	}
	s.addRanges(&e, n, depth)
	if len(s.ranges) == ranges {
		return in, nil
	}
	s.scopes = append(s.scopes, Scope{
		Name: o.name, Line: o.line, decl: o.file, Parent: in,
		CallLine: small(e.callLine), CallDiscriminator: uint32(small(e.discriminator)),
		Unit: uint32(s.unit.line), CallFile: int32(small(e.callFile)), Plain: s.plain, Records: s.records, Late: s.late, Lists: s.lists, files: s.files,
	})
	if depth == 0 {
		for _, r := range s.ranges[ranges:] {
			s.functions = append(s.functions, ScopeRange{o.name, r.lo, r.hi})
		}
	}
	if len(s.scopes) > maxScopes || len(s.ranges) > maxScopeRanges {
		return 0, fmt.Errorf("more than %d functions or %d ranges", maxScopes, maxScopeRanges)
	}
	return n, nil
}

// inline records that a function was inlined, given its abstract instance.
func (s *scopeReader) inline(a *abbrev, at uint64) {
	e, ok := s.reader.entry(s.unit, a, at)
	if !ok || e.inline&1 == 0 {
		return
	}
	if o := s.origin(s.reader, s.unit, &e, maxOriginSteps); o.name != "" && len(s.inlined) < maxScopes {
		s.inlined[inlinedFunc{o.name, o.line}] = Scope{Name: o.name, Line: o.line, decl: o.file, Parent: -1}
	}
}

// addRanges adds the address ranges of an entry to a scope with a depth.
func (s *scopeReader) addRanges(e *funcEntry, scope, depth int) {
	add := func(lo, hi uint64) bool {
		// Address 0 marks code that the linker dropped.
		if lo != 0 && lo < hi {
			s.ranges = append(s.ranges, scopeRange{lo, hi, scope, depth})
		}
		return len(s.ranges) <= maxScopeRanges
	}
	if lo, ok := s.reader.address(s.unit, e.lowPC); ok && e.highPC.form != 0 {
		hi, ok := s.reader.address(s.unit, e.highPC)
		if !ok { // then it is a distance
			hi = lo + s.reader.number(s.unit, e.highPC)
		}
		add(lo, hi)
	}
	s.reader.eachRange(s.unit, e.ranges, add)
}

// plainProducer reports whether the producer string of a unit contains the compiler's options,
// and none that optimises. By default only gcc records them.
func plainProducer(producer string) bool {
	options := strings.Fields(producer)
	// GIMPLE is what other compilations left to the link, which has options of its own.
	if len(options) < 2 || options[0] != "GNU" || options[1] == "GIMPLE" {
		return false
	}
	said, plain := false, true
	for _, o := range options[1:] {
		said = said || strings.HasPrefix(o, "-m") // gcc always records -mtune
		if strings.HasPrefix(o, "-O") {
			plain = o == "-O0"
		}
	}
	return said && plain
}

// origin returns the name and place of a function, from its entry or from those that it refers
// to. The attributes of a definition override those of its declaration.
func (s *scopeReader) origin(r *entryReader, u *entryUnit, e *funcEntry, steps int) origin {
	o := origin{name: r.text(u, e.linkage), line: small(e.line)}
	if e.hasFile {
		o.file = declFile{uint32(u.line), int32(small(e.file)), true, r.ownFiles(u)}
	}
	for _, ref := range []attrValue{e.origin, e.specification} {
		if ref.form == 0 || steps == 0 || o.name != "" && o.line != 0 && o.file.known {
			continue
		}
		at, ok := r.reference(u, ref)
		if !ok {
			continue
		}
		from, ok := s.origins[at]
		if !ok {
			if to, target, ok := r.entryAt(at); ok {
				from = s.origin(r, to, target, steps-1)
			}
			s.origins[at] = from
		}
		o.name, o.line = cmp.Or(o.name, from.name), cmp.Or(o.line, from.line)
		if !o.file.known {
			o.file = from.file
		}
	}
	o.name = cmp.Or(o.name, r.text(u, e.name))
	return o
}

// small returns n if it is a plausible number of a line or file, otherwise 0.
func small(n uint64) int {
	if n < 1<<31 {
		return int(n)
	}
	return 0
}

// flatten splits nested ranges into disjoint pieces.
func flatten(ranges []scopeRange) []scopePiece {
	stablesort.Func(ranges, func(a, b scopeRange) int {
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
