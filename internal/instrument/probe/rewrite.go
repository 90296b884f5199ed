package probe

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Result reports what Rewrite did.
type Result struct {
	Source    string
	Functions int
	Blocks    int // basic blocks whose coverage will be known
	Probes    int // blocks and functions with a probe of their own
	Skipped   []Skipped
	// EntryOnly are functions whose blocks could not be instrumented, because a branch would not reach its
	// target over the probes.
	EntryOnly []string
	// Exits is the number of places, in timed modes, where functions are left.
	Exits int `json:",omitempty"`
}

// Skipped is a function without probes.
type Skipped struct {
	Name   string
	Reason string
}

// RuntimeSymbol is defined by the runtime. Instrumented objects refer to it, so that the linker extracts the
// runtime from its archive, and a link without it fails with a name that tells the user what to do.
const RuntimeSymbol = "__cairn_link_with_cairn_cc"

// needSymbol labels the reference to RuntimeSymbol. lld and mold ignore undefined symbols unless loaded code or data needs their values.
const needSymbol = "__cairn_needs_runtime"

// First-call paths of the runtime.
const (
	firstCount = "__cairn_first_count"
	firstFull  = "__cairn_first_full"
	firstOrder = "__cairn_first_order"
)

// Symbols of the order buffer, each in a section group of its name that all
// objects share.
const (
	// nextSymbol is the number of first executions so far. It is in the raw section, so that it is handled like
	// the records.
	nextSymbol = "__cairn_next"
	// ringSymbol is the number of slots, if one was requested. Otherwise the runtime defines it as 0.
	ringSymbol = "__cairn_ring"
)

// firstCall returns the first-call path of a mode, or "".
func firstCall(m prof.Mode) string {
	switch {
	case m.HasSlots():
		return firstOrder
	case m == prof.ModeFull:
		return firstFull
	case m == prof.ModeCount, m == prof.ModeEdge:
		return firstCount
	}
	return ""
}

// Edit is text to insert at an offset of the source, or to replace some of it with.
type Edit struct {
	at   int
	text []byte
	drop int // bytes of the source that it replaces
}

// Rewriter collects the edits and the appended sections of one unit.
type Rewriter struct {
	Opts    Options
	Unit    *asm.Unit
	Edits   []Edit
	areas   []*area
	byKey   map[string]*area
	Tail    []byte                // map sections
	label   int                   // last block label handed out
	spans   map[*asm.Fragment]int // maximum sizes of fragments with probes; of Arm
	literal string                // text after the function; of Arm
	Source  string
	anchor  map[*asm.Section]int     // text section -> number of its first function
	why     map[*asm.Function]string // why functions have no probe
	Result  Result
}

// area is the part of the raw section that is kept or dropped with one text section or section group, and the
// corresponding part of the order buffer.
type area struct {
	index int
	group string
	size  int
	align int // of its records; 0 if they have no counter
	slots int // one for each record

	symbol string // of Mach-O: the symbol of the record, quoted if necessary; of COFF: the end of its section's name
	weak   bool   // the linker may take it from another object; of COFF: .linkonce says so
}

// Rewrite returns the text of u with probes, records and map.
func Rewrite(u *asm.Unit, opts Options) ([]byte, Result) {
	r := &Rewriter{
		Opts: opts, Unit: u,
		byKey: map[string]*area{}, anchor: map[*asm.Section]int{}, spans: map[*asm.Fragment]int{}, why: map[*asm.Function]string{},
		Source: opts.UnitSource(u),
	}
	r.Result.Source = r.Source
	if opts.Lineless {
		r.lineless()
	}
	for _, fn := range u.Funcs {
		if why := opts.Reason(fn, opts.SourceFor(fn.Name, r.Source)); why != "" {
			r.Result.Skipped = append(r.Result.Skipped, Skipped{fn.Name, why})
			r.why[fn] = why
			continue
		}
		r.function(fn)
	}
	switch {
	case r.Result.Functions > 0:
		return r.Render(), r.Result
	case len(u.Funcs) > 0:
		return r.appendUnit(endLine(slices.Clone(u.Src))), r.Result // a link must not take it for code of another compiler
	}
	return u.Src, r.Result
}

// function plans the probes, the record and the map entry of fn.
func (r *Rewriter) function(fn *asm.Function) {
	n := r.Result.Functions
	r.Result.Functions++
	var implied [][]int // by block; nil: no block instrumentation
	var blocks blockProbes
	var flow []prof.Flow
	count, probes := 1, 1
	switch {
	case r.Opts.Mode.HasEdges():
		c := machines[r.Unit.Kind].count(r, fn)
		fn, implied, blocks, flow = c.fn, c.implied, c.probes, c.flow
		if implied == nil {
			r.Result.EntryOnly = append(r.Result.EntryOnly, fn.Name)
		}
	case r.Opts.Mode.HasBlocks():
		fn = WithEdges(fn, r.Unit)
		implied = inferred(fn, r.Unit)
		own(fn, implied)
		var ok bool
		if blocks, ok = machines[r.Unit.Kind].blocks(r, fn, implied); !ok {
			implied = nil
			r.Result.EntryOnly = append(r.Result.EntryOnly, fn.Name)
		}
	}
	if implied != nil {
		count, probes = len(implied), 0
		for _, by := range implied {
			if by == nil {
				probes++
			}
		}
	}
	r.Result.Blocks += count
	r.Result.Probes += probes
	rec := r.record(fn, probes)
	r.entry(fn.Main(), n, rec)
	labels := r.blockProbes(fn, n, rec, implied, blocks)
	if r.literal != "" {
		r.Insert(fn.Main().End, r.literal)
		r.literal = ""
	}
	r.mapEntry(fn, n, rec, mapBlocks{labels, implied, flow})
}

// position is an address in the raw section, for use in assembly text.
type position struct {
	area int
	off  int
}

func (p position) String() string {
	s := ".Lcairn_d" + strconv.Itoa(p.area)
	if p.off > 0 {
		s += "+" + strconv.Itoa(p.off)
	}
	return s
}

func (p position) plus(n int) position { return position{p.area, p.off + n} }

// record allocates a record in the area of its function.
func (r *Rewriter) record(fn *asm.Function, probes int) position {
	a := r.object().areaOf(r, fn)
	size := int(wire.RecordSize(r.Opts.Mode.HasCalls(), r.Opts.Mode.HasBlocks(), r.Opts.Mode.HasEdges(), probes))
	if r.Opts.Mode.HasCalls() {
		a.align = r.Opts.recordAlign()
		a.size = (a.size + a.align - 1) &^ (a.align - 1)
	}
	p := position{a.index, a.size}
	a.size += size
	if r.Opts.ownSlots() {
		a.slots++
	}
	return p
}

func (r *Rewriter) Insert(at int, parts ...string) {
	r.Edits = append(r.Edits, Edit{at: at, text: []byte(strings.Join(parts, ""))})
}

// Replace puts text in place of the bytes of the source from an offset on.
func (r *Rewriter) Replace(at, bytes int, text string) {
	r.Edits = append(r.Edits, Edit{at: at, text: []byte(text), drop: bytes})
}

func (r *Rewriter) NewLabel() string {
	r.label++
	return ".Lcairn_x" + strconv.Itoa(r.label)
}

// entry plans the entry label, the entry probe and the first-call stub.
func (r *Rewriter) entry(f *asm.Fragment, n int, rec position) {
	r.Insert(f.Label, ".Lcairn_f", strconv.Itoa(n), ":\n")
	p := &entryProbe{number: n, at: f.Probe, rec: rec, unwind: f.Unwind, features: f.Arch, r: r, f: f}
	probe, stub := machines[r.Unit.Kind].entryProbe(&r.Opts, p)
	if f.Indirect && f.Unwind {
		probe = noCompact + probe
	}
	r.Insert(p.at, probe)
	if stub == "" {
		return
	}
	at, row := f.Stub, ""
	if at < 0 {
		at, row = r.stubPlace(f)
	}
	r.Insert(at, row, stub)
}

// stubPlace returns the offset of the first-call stub of f if there is no room before f, and directives that
// describe the unwind row of the entry, with which the stub runs, if it is in the unwind entry of f: clang ends
// that after the .size line. Tools that assume that functions are as long as their unwind entries, as BOLT
// does, then see all of f.
func (r *Rewriter) stubPlace(f *asm.Fragment) (at int, row string) {
	if f.SizeLine < 0 {
		return max(f.End, f.Behind), "" // of Mach-O, after its unwind entry
	}
	if f.Behind == f.SizeLine {
		return f.SizeLine, ""
	}
	saved, ok := savedRegisters(r.Unit.Src[f.Label:f.SizeLine])
	if !ok {
		return f.Behind, ""
	}
	return f.SizeLine, r.EntryRow(saved)
}

// savedRegisters returns the registers for which the unwind directives in a text have rules, and false if a
// rule is anything but a place in the frame.
func savedRegisters(text []byte) (saved []string, ok bool) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch string(fields[0]) {
		case ".cfi_offset", ".cfi_rel_offset":
			if reg := string(bytes.TrimSuffix(fields[1], []byte(","))); !slices.Contains(saved, reg) {
				saved = append(saved, reg)
			}
		case ".cfi_window_save", ".cfi_negate_ra_state", ".cfi_negate_ra_state_with_pc": // a return address may be signed
			return nil, false
		case ".cfi_escape", ".cfi_register", ".cfi_undefined", ".cfi_same_value":
			return nil, false
		}
	}
	return saved, true
}

// EntryRow returns the directives that change any unwind row with these saved registers to the row of a
// function's entry.
func (r *Rewriter) EntryRow(saved []string) string {
	row := machines[r.Unit.Kind].entryRow()
	for _, reg := range saved {
		row += "\t.cfi_restore " + reg + "\n"
	}
	return row
}

// blockProbes plans the labels of the non-entry blocks, the probes of those that are not implied, and the end
// labels. It returns the numbers of the block labels, a slice per fragment.
func (r *Rewriter) blockProbes(fn *asm.Function, n int, rec position, implied [][]int, blocks blockProbes) [][]int {
	each := 1 // byte of the record
	switch {
	case r.Opts.Mode.HasEdges():
		rec, each = rec.plus(wire.CountSize), wire.EdgeSize
	case r.Opts.Mode == prof.ModeFull:
		rec = rec.plus(wire.FullHeaderSize)
	default:
		rec = rec.plus(1)
	}
	labels := make([][]int, len(fn.Frags))
	first := 0
	for i, f := range fn.Frags {
		if i > 0 {
			r.Insert(f.Label, ".Lcairn_f", fragmentLabel(n, i), ":\n")
		}
		for k := range f.Blocks {
			if implied == nil || i == 0 && k == 0 {
				continue
			}
			r.label++
			labels[i] = append(labels[i], r.label)
			probe := ""
			if implied[first+k] == nil {
				probe = blocks.probe(first+k, rec)
				rec = rec.plus(each)
			}
			label := ".Lcairn_b" + strconv.Itoa(r.label) + ":\n"
			if b := &f.Blocks[k]; b.Way != nil {
				r.edge(b, label, probe)
			} else {
				r.Insert(b.Probe, label, probe)
			}
		}
		first += len(f.Blocks)
		r.Insert(f.End, ".Lcairn_e", fragmentLabel(n, i), ":\n")
	}
	return labels
}

// fragmentLabel returns the number of fragment i of function n in labels.
func fragmentLabel(n, i int) string {
	if i == 0 {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(n) + "_" + strconv.Itoa(i)
}

// Render applies the edits and appends the sections.
func (r *Rewriter) Render() []byte {
	to := r.object()
	out := append(r.renderEdits(), to.spell(r, r.Tail)...)
	if r.Opts.Mode.Timed() {
		return out
	}
	return r.appendUnit(to.appendAreas(r, out))
}

// renderEdits applies the edits.
func (r *Rewriter) renderEdits() []byte {
	// A replacement of a line follows the insertions before the line.
	stablesort.Func(r.Edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(min(a.drop, 1), min(b.drop, 1)))
	})
	to := r.object()
	size := len(r.Unit.Src) + len(r.Tail) + 64*len(r.areas) + 256
	for i := range r.Edits {
		r.Edits[i].text = to.spell(r, r.Edits[i].text)
		size += len(r.Edits[i].text)
	}
	out := make([]byte, 0, size)
	pos := 0
	for _, e := range r.Edits {
		out = append(out, r.Unit.Src[pos:e.at]...)
		if n := len(out); n > 0 && out[n-1] != '\n' {
			out = append(out, '\n') // after a last line without one
		}
		out = append(out, e.text...)
		pos = e.at + e.drop
	}
	return endLine(append(out, r.Unit.Src[pos:]...))
}

// endLine ends the last line of a text.
func endLine(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}

// AppendNeed appends a reference to a symbol that the runtime defines, such as RuntimeSymbol: 4 bytes for a whole
// program, under a label, in a section group of that name that all objects share.
func (r *Rewriter) AppendNeed(out []byte, label, symbol string) []byte {
	return append(out, "\t.section\t.rodata.cairn,\"aG\","+machines[r.Unit.Kind].syntax().mark+"progbits,"+label+",comdat\n"+
		"\t.weak\t"+label+"\n\t.hidden\t"+label+"\n"+label+":\n"+
		"\t.long\t"+symbol+"-.\n\t.hidden\t"+symbol+"\n"...)
}

// InsertNeed makes a function keep the reference that AppendNeed appends under label: a linker that drops what
// nothing refers to keeps it with the function's section.
func (r *Rewriter) InsertNeed(fn *asm.Function, label string) {
	r.Insert(fn.Main().Label, "\t.reloc\t., ", machines[r.Unit.Kind].relocNone(), ", ", label, "\n") // of no size
}
