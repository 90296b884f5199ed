package linkorder

import (
	"path"
	"slices"
	"strings"
)

// place is a function of the link: a symbol, with the data that distinguishes it from others.
type place struct {
	*Symbol
	object int // index into Link.Objects, -1 in the binary
	key    placeKey
}

// placeKey is equal for all names of the same code.
type placeKey struct {
	object int
	index  uint32
	addr   uint64
}

// table finds functions by name.
type table struct {
	places  []place
	byName  map[string][]int
	byKind  map[family][]int
	byRoot  map[string][]int
	byAddr  map[uint64][]int // in a binary
	hasCold map[string]bool  // roots with a split cold part
	stems   []string         // names of the objects without their suffix, by place.object
}

func newTable(places []place) *table {
	t := &table{
		places: places, byName: map[string][]int{}, byKind: map[family][]int{}, byRoot: map[string][]int{},
		byAddr: map[uint64][]int{}, hasCold: map[string]bool{},
	}
	for i := range places {
		p := &places[i]
		t.byName[p.Name] = append(t.byName[p.Name], i)
		f := familyOf(p.Name)
		t.byKind[f] = append(t.byKind[f], i)
		t.byRoot[f.root] = append(t.byRoot[f.root], i)
		if c, ok := inC(p.Name, f); ok {
			t.byKind[c] = append(t.byKind[c], i)
		}
		if f.cold {
			t.hasCold[f.root] = true
		}
		if p.object < 0 && p.Addr != 0 {
			t.byAddr[p.Addr] = append(t.byAddr[p.Addr], i)
		}
	}
	return t
}

// match is how a function was found.
type match uint8

const (
	vanished match = iota
	exact
	renamed
)

// find returns the candidates for f.
func (t *table) find(f *Func) ([]int, match) {
	if at := t.byAddr[f.Addr]; f.Addr != 0 && len(at) > 0 {
		same := slices.IndexFunc(at, func(i int) bool { return t.places[i].Name == f.Name })
		return at[max(same, 0) : max(same, 0)+1], exact
	}
	if found := t.byName[f.Name]; len(found) > 0 {
		return t.ofFile(found, f.File), exact
	}
	fam := familyOf(f.Name)
	if found := t.byKind[fam]; len(found) > 0 {
		return t.ofFile(found, f.File), renamed
	}
	if c, ok := inC(f.Name, fam); ok && len(t.byKind[c]) > 0 {
		return t.ofFile(t.byKind[c], f.File), renamed
	}
	if fam.cold {
		return nil, vanished // the remaining part is not cold, and may not have run
	}
	if found := t.byKind[family{root: fam.root}]; len(found) > 0 {
		return t.ofFile(found, f.File), renamed
	}
	found := slices.DeleteFunc(slices.Clone(t.byRoot[fam.root]), func(i int) bool { return familyOf(t.places[i].Name).cold })
	if len(found) > 0 {
		return t.ofFile(found, f.File), renamed
	}
	return nil, vanished
}

// ofFile returns the elements of found that are from a source file, or all if none is.
func (t *table) ofFile(found []int, file string) []int {
	if len(found) == 1 || file == "" {
		return found
	}
	var kept []int
	for _, i := range found {
		if t.compiledFrom(&t.places[i], file) {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 {
		return found
	}
	return kept
}

// compiledFrom reports whether a function is from a source file: by its symbol table, or if that
// does not say, as in Mach-O objects, by the name of the object. Build systems form it from the
// name of the source, with or without its suffix, and some put the program's name before it.
func (t *table) compiledFrom(p *place, file string) bool {
	base := path.Base(file)
	switch {
	case p.Source != "":
		return path.Base(p.Source) == base
	case p.object < 0 || p.object >= len(t.stems):
		return false
	}
	stem, short := t.stems[p.object], strings.TrimSuffix(base, path.Ext(base))
	return stem == base || stem == short || strings.HasSuffix(stem, "-"+base) || strings.HasSuffix(stem, "-"+short)
}

// stemsOf returns the names of objects without their suffix.
func stemsOf(objects []Object) []string {
	stems := make([]string, len(objects))
	for i := range objects {
		name := objects[i].Member
		if name == "" {
			name = path.Base(objects[i].Path)
		}
		stems[i] = strings.TrimSuffix(name, path.Ext(name))
	}
	return stems
}

// orderable reports whether a linker's order of .text can move a function. Symbols without a
// size are labels, and .init and .fini must not be reordered.
func (p *place) orderable() bool {
	return p.Size > 0 && (p.Section == "" || p.Section == ".text" || strings.HasPrefix(p.Section, ".text."))
}

// resolver has the tables of a link while a list is resolved.
type resolver struct {
	link     *Link
	primary  *table // of the binary, else of the objects
	objects  *table
	names    []ObjectName // parallel to Link.Objects
	crowds   map[sectionKey]int
	sections map[string]int // number of different sections with a name
	taken    map[placeKey]bool
	named    map[string]bool // symbols that were accepted without a table
	out      Resolution
}

type sectionKey struct {
	object int
	index  uint32
}

// Resolve finds the functions of a ranked list in a link. A function is searched by its
// address, then by its name, then by its name with other numbers in clone suffixes
// (f.constprop.0, f.llvm.123), then by the name without them; if several functions have the
// name, those of its source file are used. A cold part matches only a cold part, and is never
// replaced by its function.
//
// With a binary and objects, the binary determines which functions exist and the objects their
// sections. With neither, every function resolves to its own name.
func Resolve(funcs []Func, link *Link) *Resolution {
	r := newResolver(link)
	r.out.Report.Listed = len(funcs)
	for i := range funcs {
		if r.primary == nil {
			r.unchecked(i, &funcs[i])
		} else {
			r.resolve(i, &funcs[i])
		}
	}
	r.out.Report.Entries = len(r.out.Entries)
	return &r.out
}

func newResolver(link *Link) *resolver {
	r := &resolver{
		link: link, crowds: map[sectionKey]int{}, sections: map[string]int{},
		taken: map[placeKey]bool{}, named: map[string]bool{},
	}
	if len(link.Objects) > 0 {
		r.objects = newTable(r.objectPlaces())
		r.objects.stems = stemsOf(link.Objects)
		r.names = objectNames(link.Objects)
		r.primary = r.objects
	}
	if len(link.Binary) > 0 {
		places := make([]place, len(link.Binary))
		for i := range link.Binary {
			s := &link.Binary[i]
			places[i] = place{s, -1, placeKey{object: -1, addr: s.Addr}}
		}
		r.primary = newTable(places)
	}
	return r
}

// objectPlaces lists the functions of all objects and counts the functions in each section,
// and the sections with each name. Global functions of one name are one function, because the
// linker keeps the first.
func (r *resolver) objectPlaces() []place {
	var places []place
	seen := map[placeKey]bool{}
	owners := map[string]map[sectionKey]bool{}
	globals := map[string]placeKey{}
	for o := range r.link.Objects {
		for i := range r.link.Objects[o].Funcs {
			s := &r.link.Objects[o].Funcs[i]
			key := placeKey{o, s.Index, s.Addr}
			if !seen[key] && s.Size > 0 {
				seen[key] = true
				r.crowds[sectionKey{o, s.Index}]++
			}
			owner := sectionKey{o, s.Index}
			if !s.Local {
				owner = sectionKey{-1, 0}
				if first, ok := globals[s.Name]; ok {
					key = first
				} else {
					globals[s.Name] = key
				}
			}
			if owners[s.Section] == nil {
				owners[s.Section] = map[sectionKey]bool{}
			}
			owners[s.Section][owner] = true
			places = append(places, place{s, o, key})
		}
	}
	for name, of := range owners {
		r.sections[name] = len(of)
	}
	return places
}

// unchecked accepts a function without a lookup.
func (r *resolver) unchecked(i int, f *Func) {
	r.out.Report.Resolved++
	if r.named[f.Name] {
		r.out.Report.Merged++
		return
	}
	r.named[f.Name] = true
	sections := f.Sections
	if sections == nil {
		sections = variants(f.Name, f.Split)
	}
	r.out.Entries = append(r.out.Entries, Entry{
		Func: i, Symbol: f.Name, Source: f.File, Sections: sections,
	})
}

func (r *resolver) resolve(i int, f *Func) {
	rep := &r.out.Report
	found, how := r.primary.find(f)
	if how == vanished {
		rep.Vanished = append(rep.Vanished, f.Name)
		return
	}
	found = slices.DeleteFunc(slices.Clone(found), func(k int) bool { return !r.primary.places[k].orderable() })
	if len(found) == 0 {
		rep.Misplaced = append(rep.Misplaced, f.Name)
		return
	}
	rep.Resolved++
	if how == renamed {
		rep.Renamed++
	}
	before := len(r.out.Entries)
	for _, k := range found {
		if p := &r.primary.places[k]; !r.taken[p.key] {
			r.taken[p.key] = true
			r.add(i, f, p)
		}
	}
	if len(r.out.Entries) == before {
		rep.Merged++
	}
}

// add appends the entry of a place.
func (r *resolver) add(i int, f *Func, p *place) {
	rep := &r.out.Report
	e := Entry{Func: i, Symbol: p.Name, Source: p.Source, Local: p.Local, Size: p.Size}
	if e.Source == "" {
		e.Source = f.File
	}
	e.SharedName = r.shared(p)
	if o := r.inObjects(p, e.Source); o != nil {
		e.Sections = []string{o.Section}
		e.SharedSection = r.sections[o.Section] > 1
		e.Crowded = r.crowds[sectionKey{o.object, o.Index}] > 1
		if r.unique(o) {
			e.Object = r.names[o.object]
		}
	} else {
		e.Sections = variants(p.Name, f.Split || r.primary.hasCold[familyOf(p.Name).root])
		e.SharedSection = e.SharedName
	}
	rep.Bytes += e.Size
	if e.SharedName {
		rep.Ambiguous = append(rep.Ambiguous, e.Symbol)
	}
	if e.Crowded {
		rep.Crowded = append(rep.Crowded, e.Symbol)
	}
	r.out.Entries = append(r.out.Entries, e)
}

// shared reports whether the link has another function of p's name.
func (r *resolver) shared(p *place) bool {
	return slices.ContainsFunc(r.primary.byName[p.Name], func(k int) bool {
		other := &r.primary.places[k]
		return other.key != p.key && other.orderable()
	})
}

// unique reports whether o is the only definition of a function that several objects may
// define.
func (r *resolver) unique(o *place) bool {
	if o.Local {
		return true
	}
	n := 0
	for _, k := range r.objects.byName[o.Name] {
		if !r.objects.places[k].Local {
			n++
		}
	}
	return n == 1
}

// inObjects returns the definition in the objects of a function of the primary table, which is from
// a source file, or nil
// if there is none, or it is ambiguous.
func (r *resolver) inObjects(p *place, source string) *place {
	if r.objects == nil {
		return nil
	}
	if p.object >= 0 {
		return p
	}
	var found []*place
	for _, k := range r.objects.byName[p.Name] {
		if o := &r.objects.places[k]; o.Local == p.Local || !o.Local { // a visibility attribute can make a global symbol local
			found = append(found, o)
		}
	}
	narrow := func(keep func(*place) bool) {
		if kept := slices.DeleteFunc(slices.Clone(found), func(o *place) bool { return !keep(o) }); len(kept) > 0 {
			found = kept
		}
	}
	narrow(func(o *place) bool { return o.Local == p.Local })
	narrow(func(o *place) bool { return p.Local && r.objects.compiledFrom(o, source) })
	narrow(func(o *place) bool { return o.Size == p.Size })
	if len(found) == 0 || found[0].Local && len(found) > 1 {
		return nil
	}
	return found[0]
}

// variants returns the sections in which gcc and clang place a function with
// -ffunction-sections, as far as its name determines them. The .text.unlikely section contains
// the cold part of a split function, which must not be moved.
func variants(symbol string, split bool) []string {
	f := familyOf(symbol)
	if f.cold {
		parent := symbol[:strings.LastIndex(symbol, ".cold")]
		return []string{".text.unlikely." + parent, ".text.split." + parent}
	}
	names := []string{".text." + symbol, ".text.startup." + symbol, ".text.hot." + symbol, ".text.unlikely." + symbol}
	if split {
		names = names[:3]
	}
	return names
}

// objectNames returns names that are unique for objects that can be distinguished.
func objectNames(objects []Object) []ObjectName {
	names := make([]ObjectName, len(objects))
	tails := make([][]string, len(objects)) // path elements, last first
	for i := range objects {
		o := &objects[i]
		parts := strings.Split(path.Clean(o.Path), "/")
		slices.Reverse(parts)
		names[i].Leaf = parts[0]
		if o.Member != "" {
			names[i].Leaf = parts[0] + "(" + o.Member + ")"
			parts[0] += ":" + o.Member
		}
		names[i].Path, tails[i] = parts[0], parts[1:]
	}
	for clash := true; clash; {
		clash = false
		count := map[string]int{}
		for i := range names {
			count[names[i].Path]++
		}
		for i := range names {
			if count[names[i].Path] > 1 && len(tails[i]) > 0 && tails[i][0] != "" && tails[i][0] != ".." {
				names[i].Path, tails[i] = tails[i][0]+"/"+names[i].Path, tails[i][1:]
				clash = true
			}
		}
	}
	return names
}
