package probe

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// gcc -flto writes no assembly of functions: the linker starts the compiler again, which inlines and removes
// functions of all objects. What was compiled is in the dump of a pass that runs before, with the location of each
// statement (GCC manual, "Developer Options"; TDF_LINENO and TDF_ASMNAME). The record of it is in a section that
// linkers leave out: the one that starts the compiler joins those of the objects.

// DumpOption is the option of gcc that writes the functions of a compilation to a file, whose name follows. The
// pass runs at all levels, before calls are inlined or computed.
const DumpOption = "-fdump-tree-ssa-lineno-asmname="

// Parts of a dump.
var (
	dumpHead     = []byte("\n;; Function ")
	dumpNumber   = []byte(", funcdef_no=")
	dumpDebug    = []byte("# DEBUG ")
	dumpLocation = lazyregexp.New(`\[([^\[\]<>" ][^\[\]<>"]*):([1-9]\d*):\d+(?: discrim \d+)?\]`)
	dumpName     = lazyregexp.New(`[A-Za-z_$][\w$.]*`)
	dumpVersion  = lazyregexp.New(`^(?:\w*_\d+|D\.\d+|D|bb|PHI|goto|if|else|return|local|count|int|char|void)$`)
	ltoSection   = lazyregexp.New(`(?m)^\t\.section\t\.gnu\.lto_([^".,\n][^",\n]*)\.\d+\.[0-9a-f]+,`)
	ltoDebug     = []byte("\t.section\t.gnu.debuglto_.debug_info,")
)

// HasLTO reports whether a compiler's output has code for the compiler that the linker starts.
func HasLTO(src []byte) bool { return ltoSection().Match(src) }

// AppendLTO appends to text, which was made of a compiler's output src, the record of the functions for the linker's
// compiler, which are in a dump of the compilation. Where debug information was not asked for, it has no lines.
func (o *Options) AppendLTO(text, src, dump []byte, source string) []byte {
	u := o.ltoUnit(src, dump, source)
	data, err := mip.AppendUnit(nil, u)
	if err != nil || len(u.Funcs) == 0 {
		return text // a name is longer than the formats allow
	}
	out := append(endLine(slices.Clone(text)), "\t.section\t"+wire.LTOSection+",\"e\",%progbits\n"...)
	return appendBytes(out, data)
}

// AppendRecord appends a section that is not loaded to assembly for ELF.
func AppendRecord(text []byte, section string, data []byte) []byte {
	return appendBytes(append(endLine(slices.Clone(text)), "\t.section\t"+section+",\"\",%progbits\n"...), data)
}

func (o *Options) ltoUnit(src, dump []byte, source string) *prof.Unit {
	u := &prof.Unit{File: source, LTO: true}
	streamed := map[string]bool{}
	for _, m := range ltoSection().FindAllSubmatch(src, -1) {
		streamed[string(m[1])] = true
	}
	debug := bytes.Contains(src, ltoDebug)
	for len(dump) > 0 {
		var text []byte
		if text, dump = nextDump(dump); text == nil {
			break
		}
		name, body := dumpedFunction(text)
		if name == "" || len(name) > mip.MaxName {
			continue
		}
		u.Refs = append(u.Refs, prof.Refs{From: name, To: dumpedNames(body, name)})
		if !streamed[name] || o.Omits(name, source) { // of the former all calls were inlined
			continue
		}
		delete(streamed, name)
		a := prof.Absent{Name: name, File: source}
		if debug {
			a.Lines = o.dumpedLines(body)
		}
		u.Funcs = append(u.Funcs, a)
	}
	stablesort.Func(u.Refs, func(a, b prof.Refs) int { return cmp.Compare(a.From, b.From) })
	u.Refs = slices.CompactFunc(u.Refs, func(a, b prof.Refs) bool { return a.From == b.From })
	return u
}

// nextDump returns the text of the next function of a dump, nil if there is none, and the rest.
func nextDump(dump []byte) (text, rest []byte) {
	i := bytes.Index(dump, dumpHead)
	if i < 0 {
		return nil, nil
	}
	dump = dump[i+len(dumpHead):]
	if i = bytes.Index(dump, dumpHead); i < 0 {
		return dump, nil
	}
	return dump[:i], dump[i:]
}

// dumpedFunction returns the name of the symbol of a function, and its body.
func dumpedFunction(text []byte) (name string, body []byte) {
	head, body, _ := bytes.Cut(text, []byte("\n"))
	head, _, ok := bytes.Cut(head, dumpNumber)
	if !ok {
		return "", nil
	}
	head = head[bytes.LastIndexByte(head, '(')+1:]
	return string(bytes.TrimPrefix(head, []byte("*"))), body // * marks a name that the source gives
}

// dumpedLines returns the lines of the statements in the body of a function.
func (o *Options) dumpedLines(body []byte) []prof.LineRange {
	var ranges []prof.LineRange
	for line := range bytes.Lines(body) {
		if bytes.Contains(line, dumpDebug) {
			continue
		}
		for _, m := range dumpLocation().FindAllSubmatch(line, -1) {
			file := string(m[1])
			if !path.IsAbs(file) {
				file = path.Join(o.Dir, file)
			}
			if n, err := strconv.ParseUint(string(m[2]), 10, 31); err == nil {
				ranges = append(ranges, prof.LineRange{File: path.Clean(file), From: uint32(n), To: uint32(n)})
			}
		}
	}
	return sortedRanges(ranges)
}

// dumpedNames returns the names in the body of a function, less those that can only be its own.
func dumpedNames(body []byte, own string) []string {
	seen := map[string]bool{own: true}
	var names []string
	for line := range bytes.Lines(body) {
		if bytes.Contains(line, dumpDebug) {
			continue
		}
		for _, word := range dumpName().FindAll(dumpLocation().ReplaceAll(line, nil), -1) {
			if name := string(word); !seen[name] {
				if seen[name] = true; !dumpVersion().Match(word) && len(name) <= mip.MaxName {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Omits reports whether the user chose that a function of a source file gets no probe, or no source has it.
func (o *Options) Omits(name, source string) bool {
	return RustMade(name) || !o.wanted(name, source) || o.Groups > 0 && groupOf(name, source, o.Groups) != o.Group
}
