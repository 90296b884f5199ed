package probe

import (
	"hash/fnv"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/msname"
	"github.com/cairnprof/cairn/internal/splitmix"
	"github.com/cairnprof/cairn/prof"
)

// Options control what is recorded, in which functions, and how. They are all choices of a user: flags set
// them, the stand-in for the assembler reads them from a file (JSON), Rewrite applies them, and the runtime of
// the timed modes is compiled for them.
type Options struct {
	Machine machine.Kind `json:"machine,omitempty"` // machine of the code
	Object  asm.Object   `json:"object,omitempty"`  // kind of object file
	MSVC    bool         `json:"msvc,omitempty"`    // of COFF: the system is MSVC's
	Android bool         `json:"android,omitempty"` // the program is for Android

	Mode   prof.Mode `json:"mode,omitzero"`
	Atomic bool      `json:"atomic,omitempty"` // count with locked instructions, exact under threads
	// Slots is the size of the module's order buffer in modes that have one: that number of latest first
	// executions is kept. 0: a slot for each function.
	Slots int `json:"order_slots,omitempty"`

	Selection
	Timing

	// Lineless is set for GNU as, which drops line 0 of .loc directives: code without a line would have that of
	// the code before it.
	Lineless bool `json:"lineless,omitempty"`

	// DefaultDir is where programs write if CAIRN_DIR is unset, "": nowhere.
	DefaultDir string `json:"default_dir,omitempty"`

	// Apart leaves out the parts that a module with an order buffer has only once: they are in a separate
	// object (OrderBuffer). lld keeps all section groups of objects that it made of bitcode.
	Apart  bool `json:"-"`
	Origin `json:"-"`

	Entered bool // timed modes: call __cairn_entered at entries, for tests
}

// Selection says which functions are instrumented.
type Selection struct {
	// Only and Skip are matched against a function's mangled name, its
	// demangled name and its source file. A function is instrumented if it
	// matches some Only (or there is none) and no Skip.
	Only []*regexp.Regexp `json:"only,omitempty"`
	Skip []*regexp.Regexp `json:"skip,omitempty"`
	// MinInsns leaves out functions with fewer instructions.
	MinInsns int `json:"min_instructions,omitempty"`
	// Groups, unless 0, leaves out functions that are not in group Group, from 0, of that number. A function's
	// group depends on its name and on its file's.
	Groups int `json:"groups,omitempty"`
	Group  int `json:"group,omitempty"`
	// Small leaves out, in mode spike, functions with fewer instructions and without a loop that call nothing
	// that can block: they hardly take long themselves. 0 leaves out none.
	Small int `json:"small,omitempty"`
}

// Timing says what the timed modes record.
type Timing struct {
	Flight    bool   `json:"flight,omitempty"`    // of mode spike: each entry goes into a ring of its thread
	Exact     bool   `json:"exact,omitempty"`     // of mode spike: calls are timed by the time stamp counter
	Threshold string `json:"threshold,omitempty"` // of mode spike: threshold unless the environment sets one, such as 1000us; "": 10ms
	Control   bool   `json:"control,omitempty"`   // of mode spike: create a control socket without a request by the environment
	Signals   bool   `json:"signals,omitempty"`   // of modes spike and stacks: signals to each thread keep the clock, unless the environment sets another
	Counts    bool   `json:"counts,omitempty"`    // of mode stacks: no times
	Longest   bool   `json:"longest,omitempty"`   // of mode stacks: the longest call of each stack as well
	Depth     int    `json:"depth,omitempty"`     // of modes stacks and trace: the maximum depth of recorded calls; 0: any
}

// Origin says which sources the code is of. A build's flags do not have it.
type Origin struct {
	// Sources are the paths of the sources being compiled. Compilers put only
	// a base name into their output; the path here that ends in it replaces it.
	Sources []string
	// Dir is the directory in which the compiler ran, for names of source files without one.
	Dir string
	// SourceOf, unless nil, returns the source file of a function in code that was compiled from several, "" if
	// it is not known.
	SourceOf func(function string) string
}

// OptOutSection is the section that a function is put into, by an attribute
// in its source, to stay uninstrumented.
const OptOutSection = ".text.cairn_skip"

// Reasons for leaving a function alone.
const (
	SkipFiltered = "filtered by --only or --skip"
	SkipGroup    = "in another group (--group)"
	SkipOptOut   = "opted out in the source"
	SkipNaked    = "naked: all of it is inline assembly"
	SkipSmall    = "below --min-instructions"
	SkipEmpty    = "empty: the compiler proved it unreachable"
	SkipThunk    = "a thunk for indirect branches"
	SkipMade     = "made by rustc for the link: no source has it"
	SkipOrphan   = "a cold fragment of a function in another section group"
)

// recordAlign is the alignment of records with counters.
func (o *Options) recordAlign() int {
	if o.Mode.HasEdges() {
		return wire.EdgeAlign
	}
	return wire.RecordAlign
}

// ownSlots reports whether each function has its own slot in the order buffer.
func (o *Options) ownSlots() bool { return o.Mode.HasSlots() && o.Slots == 0 }

// Reason returns why fn is left alone, or "".
func (o *Options) Reason(fn *asm.Function, source string) string {
	insns, inline, compiled := 0, false, false
	for _, fr := range fn.Frags {
		insns += fr.Insns
		inline = inline || fr.HasAsm
		compiled = compiled || fr.Compiled
	}
	switch {
	case objects[o.Object].optsOut(fn):
		return SkipOptOut
	case insns == 0 && !inline:
		return SkipEmpty
	case inline && !compiled:
		return SkipNaked
	case strings.HasPrefix(fn.Name, "__x86_indirect_") || strings.HasPrefix(fn.Name, "__x86_return_"):
		return SkipThunk
	case fn.Orphan:
		return SkipOrphan
	case RustMade(fn.Name):
		return SkipMade
	case insns < o.MinInsns:
		return SkipSmall
	case !o.wanted(fn.Name, source):
		return SkipFiltered
	case o.Groups > 0 && groupOf(fn.Name, source, o.Groups) != o.Group:
		return SkipGroup
	}
	return ""
}

// groupOf returns the group of a function. All functions that the compiler makes of one function of the source
// are in the same group. The directory of the file makes no difference: builds of the same program in different
// places must agree.
func groupOf(name, source string, groups int) int {
	if m := partName().FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	h := fnv.New64a()
	io.WriteString(h, name+"\x00"+path.Base(source))
	return int(splitmix.Mix(h.Sum64()) % uint64(groups))
}

func (o *Selection) wanted(name, source string) bool {
	if len(o.Only) == 0 && len(o.Skip) == 0 {
		return true
	}
	texts := []string{name, demangle.Filter(name), source}
	if text, ok := msname.Demangle(name, false); ok {
		texts = append(texts, text)
	}
	if m := partName().FindStringSubmatch(name); m != nil { // it belongs to the group of its function
		texts = append(texts, m[1], demangle.Filter(m[1]))
	}
	return (len(o.Only) == 0 || anyMatch(o.Only, texts)) && !anyMatch(o.Skip, texts)
}

// partName matches the names of functions that compilers make of a part of another.
var partName = lazyregexp.New(`^(.+?)\.(?:(?:__)?part|cold)(?:\.\d+)?(?:\..+)?$`)

func anyMatch(res []*regexp.Regexp, texts []string) bool {
	for _, re := range res {
		for _, s := range texts {
			if re.MatchString(s) {
				return true
			}
		}
	}
	return false
}

// SourceFor returns the source file of a function in the unit of a source.
func (o *Origin) SourceFor(function, unit string) string {
	if o.SourceOf != nil {
		if source := o.SourceOf(function); source != "" {
			return o.SourcePath(source)
		}
	}
	return unit
}

// SourcePath returns the path in o.Sources that ends in the name that the compiler gave, or the name itself if none or
// several do.
func (o *Origin) SourcePath(name string) string {
	if found := o.sourcesNamed(name); len(found) == 1 {
		return found[0]
	}
	return name
}

// sourcesNamed returns the paths in o.Sources that end in a name.
func (o *Origin) sourcesNamed(name string) (found []string) {
	for _, source := range o.Sources {
		if source == name {
			return []string{source}
		}
		if strings.HasSuffix(source, "/"+name) && !slices.Contains(found, source) {
			found = append(found, source)
		}
	}
	return found
}

// debugFile matches a file of debug information: its number, directory and name.
var debugFile = lazyregexp.New(`(?m)^\s*\.file\s+(\d+)\s+(?:"([^"\\\n]+)"\s+)?"([^"\\\n]+)"`)

// UnitSource is SourcePath of a unit's source. gcc gives its base name alone; if a command compiles several files of that
// name, debug information tells which one it is: number 0 is the source, the others may be included in it.
func (o *Options) UnitSource(u *asm.Unit) string {
	sources := o.sourcesNamed(u.Source)
	if len(sources) < 2 {
		return o.SourcePath(u.Source)
	}
	named := map[string]bool{}
	for _, m := range debugFile().FindAllSubmatch(u.Src, -1) {
		for _, name := range []string{path.Join(string(m[2]), string(m[3])), path.Clean(string(m[3]))} {
			is := (&Options{Origin: Origin{Sources: sources}}).sourcesNamed(name)
			if len(is) != 1 {
				continue
			}
			if string(m[1]) == "0" {
				return is[0]
			}
			named[is[0]] = true
			break
		}
	}
	if only := slices.Collect(maps.Keys(named)); len(only) == 1 {
		return only[0]
	}
	return u.Source
}
