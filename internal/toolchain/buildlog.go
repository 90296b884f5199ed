package toolchain

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// buildEvent is a line of the build log: an object that was instrumented, one that was left as it is, or something
// else that a stand-in did.
type buildEvent struct {
	probe.Result
	Untouched string      `json:",omitempty"` // why
	Path      string      `json:",omitempty"` // of Source, absolute
	Object    string      `json:",omitempty"` // what was made of a file that was left as it is, absolute
	Empty     bool        `json:",omitempty"` // it has no function that the flags select
	Check     bool        `json:",omitempty"` // it is a check of the build system
	Map       *mapEvent   `json:",omitempty"` // of a plain build with a map
	Split     *splitEvent `json:",omitempty"` // of a build by a profile
	Proof     *proofEvent `json:",omitempty"` // of an object with probes
	Uncaught  string      `json:",omitempty"` // a compiler that could not be caught
	linkEvent
	bitcodeEvent
	cacheEvent
	rustEvent
}

// linkEvent is what a link was given, or what was done for its module.
type linkEvent struct {
	Linked []linkedObject `json:",omitempty"` // objects without probes
	Given  []string       `json:",omitempty"` // source files of the objects with probes
	Laid   string         `json:",omitempty"` // a module that was linked in the order of a profile
	Kept   *keptEvent     `json:",omitempty"` // a module for which the linker cannot do a part of that
	Start  *keptEvent     `json:",omitempty"` // a module, and what was done for its start
	// RustLibrary reports that it has Rust's standard library as rustc ships it.
	RustLibrary bool `json:",omitempty"`
}

// bitcodeEvent is what a compiler made bitcode of, or a link code of bitcode.
type bitcodeEvent struct {
	Bitcode   int      `json:",omitempty"` // files compiled to bitcode, from which a linker makes code
	Parsed    []string `json:",omitempty"` // these files, if no link need be given the bitcode (-emit-llvm)
	Units     int      `json:",omitempty"` // number of source files of its code, if not 1
	LinkCache string   `json:",omitempty"` // a module whose link may use lld's cache
	LTOLink   string   `json:",omitempty"` // the number of that link, in events of what it compiled as well
}

// cacheEvent is what a compiler cache, or another launcher of compilers, did.
type cacheEvent struct {
	Ran      bool   `json:",omitempty"` // a cache had to start its compiler
	PassedBy string `json:",omitempty"` // a bypassed launcher
	Cache    string `json:",omitempty"` // a compiler cache that was asked for Source
	Launch   string `json:",omitempty"` // the number of that request, in events of what answers it as well
}

// rustEvent is what rustc or cargo did.
type rustEvent struct {
	Crate    string `json:",omitempty"` // that the object is a unit of
	Host     string `json:",omitempty"` // a crate that runs for the build, without probes
	Cargo    bool   `json:",omitempty"` // cargo ran, and keeps what it makes with these flags apart
	CargoNew bool   `json:",omitempty"` // cargo compiles into a directory for the first time with these flags
}

// logEvent appends to the log of cairn build, if there is one, and to those of builds
// around it.
func logEvent(e buildEvent) error {
	logs := os.Getenv(catch.EnvLog)
	if logs == "" {
		return nil
	}
	if e.Launch == "" {
		e.Launch = os.Getenv(catch.EnvLaunch)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for path := range strings.SplitSeq(logs, "\n") {
		if err := appendLine(path, line); err != nil {
			return err
		}
	}
	return nil
}

// heldLog keeps the events of a link that may have to be made in another way.
type heldLog struct{ path, logs string }

// holdLog has what is logged kept in a file at path. It does nothing without a log.
func holdLog(path string) (*heldLog, error) {
	h := &heldLog{path, os.Getenv(catch.EnvLog)}
	if h.logs == "" {
		return h, nil
	}
	return h, errors.Join(os.WriteFile(path, nil, 0o600), os.Setenv(catch.EnvLog, path))
}

// release logs the events if what they report was linked.
func (h *heldLog) release(linked bool) error {
	if h.logs == "" {
		return nil
	}
	lines, err := os.ReadFile(h.path)
	if err := errors.Join(err, os.Setenv(catch.EnvLog, h.logs)); err != nil || !linked || len(lines) == 0 {
		return err
	}
	for path := range strings.SplitSeq(h.logs, "\n") {
		if err := appendLine(path, lines[:len(lines)-1]); err != nil {
			return err
		}
	}
	return nil
}

// logUntouched logs a file that is left as it is, and why.
// object is what is made of it, "" if that is not known.
func logUntouched(name, why, object string) error {
	e := buildEvent{Result: probe.Result{Source: name}, Untouched: why, Path: pathOf(name)}
	if object != "" {
		e.Object = absolute([]string{object})[0]
	}
	return logEvent(e)
}

// pathOf returns the absolute path of a source file, "" if there is no such file.
func pathOf(name string) string {
	if path, err := filepath.Abs(name); err == nil && Exists(path) {
		return path
	}
	return ""
}

// appendLine appends a line to an existing file. A single write to a file opened for appending
// is not interleaved with those of parallel builds.
func appendLine(path string, line []byte) error {
	// The log no longer exists if a wrapper outlives its build; that is not an error.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// buildSummary is the summary that cairn build prints at its end.
type buildSummary struct {
	Mode      string              `json:"mode"`
	Files     int                 `json:"files"`
	Functions int                 `json:"functions"`
	Blocks    int                 `json:"blocks"`
	Compiled  int                 `json:"compilations"` // of these files: libtool compiles each twice
	Skipped   map[string][]string `json:"skipped"`      // reason -> functions
	EntryOnly []string            `json:"entry_only"`   // functions without block probes
	Untouched map[string][]string `json:"untouched"`    // reason -> files

	Empty    int      `json:"empty"`                   // files without a function that the flags select
	Checks   int      `json:"checks"`                  // files that build systems compiled to examine the system
	Unlinked []string `json:"in_no_program,omitempty"` // files that no link of the build was given
	Cached   int      `json:"cached"`                  // files that a compiler cache had
	Bitcode  int      `json:"bitcode,omitempty"`       // files compiled to bitcode, which are counted again when they are linked
	rustSummary
	Links    []string `json:"links_cached,omitempty"` // modules whose whole code was in lld's cache
	PassedBy []string `json:"passed_by,omitempty"`    // launchers that were bypassed
	Uncaught []string `json:"uncaught,omitempty"`     // compilers that were not caught

	Use   *useSummary   `json:"use,omitempty"`   // of a build by a profile
	Proof *proofSummary `json:"proof,omitempty"` // of a build with --prove

	seen map[string]*fileSummary // by path
}

// rustSummary is what rustc and cargo did in a build.
type rustSummary struct {
	Crates   []string `json:"crates,omitempty"`      // with probes
	Host     []string `json:"host_crates,omitempty"` // that run for the build, without probes
	Cargo    bool     `json:"cargo,omitempty"`       // cargo ran, and what it made earlier with the same flags has probes
	CargoNew bool     `json:"cargo_new,omitempty"`   // it compiled into a directory for the first time with these flags
	// RustLibrary reports that programs have Rust's standard library as rustc ships it, without probes.
	RustLibrary bool `json:"rust_library,omitempty"`
}

// fileSummary is what the compilations of a file had at most, and the functions that were listed. Compilations for
// a library and for a program have the same functions.
type fileSummary struct {
	functions, blocks int
	listed            map[probe.Skipped]bool
}

// ReadBuildLog sums up the log of a build, to which all stand-ins write.
func ReadBuildLog(path, mode string) (*buildSummary, error) {
	sum := &buildSummary{Mode: mode, EntryOnly: []string{}, Skipped: map[string][]string{}, Untouched: map[string][]string{}, seen: map[string]*fileSummary{}}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	cached := map[string]string{}     // by number: modules of which nothing was compiled
	launched := map[string]bool{}     // by number: not answered by a compiler
	untouched := map[[2]string]bool{} // by path and reason: compilers start each other, and builds compile a file for several programs
	var linked unprobedLinks
	given := map[string]bool{}
	var parsed []string
	for lines.Scan() {
		var e buildEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("build: %s: %w", path, err)
		}
		if e.LinkCache != "" {
			cached[e.LTOLink] = e.LinkCache
			continue
		}
		delete(cached, e.LTOLink)
		linked.add(&e)
		for _, file := range e.Given {
			given[file] = true
		}
		parsed = append(parsed, e.Parsed...)
		if e.Cache != "" {
			launched[e.Launch] = true
			continue
		}
		delete(launched, e.Launch)
		if left := [2]string{e.Path, e.Untouched}; e.Path != "" && e.Untouched != "" {
			if untouched[left] {
				continue
			}
			untouched[left] = true
		}
		if !e.Ran && e.Map == nil && len(e.Linked)+len(e.Given) == 0 {
			sum.add(&e)
		}
	}
	sum.Cached, sum.Links = len(launched), slices.Sorted(maps.Values(cached))
	linked.list(sum)
	sum.unlinked(given, parsed)
	return sum, lines.Err()
}

// unlinked sets the files that were compiled and that no link was given, if the build linked anything. parsed are those
// of which bitcode was made: a link is given it, or a compiler makes code of it.
func (b *buildSummary) unlinked(given map[string]bool, parsed []string) {
	for path := range b.seen {
		if path != "" && len(given) > 0 && !given[path] {
			b.Unlinked = append(b.Unlinked, path)
		}
	}
	for _, path := range parsed {
		if len(given) > 0 && b.seen[path] == nil && !given[path] {
			b.Unlinked = append(b.Unlinked, path)
		}
	}
	slices.Sort(b.Unlinked)
	b.Unlinked = slices.Compact(b.Unlinked)
}

func (b *buildSummary) add(e *buildEvent) {
	switch {
	case e.Host != "":
		b.Host = append(b.Host, e.Host)
	case e.Cargo, e.CargoNew, e.RustLibrary:
		b.Cargo, b.CargoNew, b.RustLibrary = b.Cargo || e.Cargo, b.CargoNew || e.CargoNew, b.RustLibrary || e.RustLibrary
	case e.Untouched != "":
		b.Untouched[e.Untouched] = append(b.Untouched[e.Untouched], e.Source)
	case e.Check:
		b.Checks++
	case e.Bitcode > 0:
		b.Bitcode += e.Bitcode
	case e.Empty && e.Crate == "":
		b.Empty++
	case e.PassedBy != "":
		if !slices.Contains(b.PassedBy, e.PassedBy) {
			b.PassedBy = append(b.PassedBy, e.PassedBy)
		}
	case e.Uncaught != "":
		if !slices.Contains(b.Uncaught, e.Uncaught) {
			b.Uncaught = append(b.Uncaught, e.Uncaught)
		}
	case e.Proof != nil:
		if b.Proof == nil {
			b.Proof = newProofSummary(b.Mode)
		}
		b.Proof.add(e.Proof)
	case e.Split != nil, e.Laid != "", e.Kept != nil, e.Start != nil:
		if b.Use == nil {
			b.Use = newUseSummary()
		}
		b.Use.add(e)
	default:
		b.addFile(e)
	}
}

// addFile adds a compilation. Of a file that was compiled before it adds what is new.
func (b *buildSummary) addFile(e *buildEvent) {
	f := b.seen[e.Path]
	switch {
	case e.Crate != "":
		if !slices.Contains(b.Crates, e.Crate) {
			b.Crates = append(b.Crates, e.Crate)
		}
		f = &fileSummary{listed: map[probe.Skipped]bool{}}
	case f == nil || e.Path == "":
		b.Compiled += max(1, e.Units)
		b.Files += max(1, e.Units)
		f = &fileSummary{listed: map[probe.Skipped]bool{}}
		b.seen[e.Path] = f
	default:
		b.Compiled += max(1, e.Units)
	}
	b.Functions += max(0, e.Functions-f.functions)
	b.Blocks += max(0, e.Blocks-f.blocks)
	f.functions, f.blocks = max(f.functions, e.Functions), max(f.blocks, e.Blocks)
	isNew := func(k probe.Skipped) bool {
		known := f.listed[k]
		f.listed[k] = true
		return !known
	}
	for _, name := range e.EntryOnly {
		if isNew(probe.Skipped{Name: name}) {
			b.EntryOnly = append(b.EntryOnly, name)
		}
	}
	for _, k := range e.Skipped {
		if isNew(k) {
			b.Skipped[k.Reason] = append(b.Skipped[k.Reason], k.Name)
		}
	}
}

// cleanFirst is advice for builds in which nothing was compiled.
const cleanFirst = "everything was up to date (make -B, ninja -t clean or cmake --build --clean-first rebuild it), or its compilers could not be intercepted; use --allow-nothing if this is expected"

// Nothing is the error of a build in which nothing was compiled.
func (b *buildSummary) Nothing(use *useOptions) error {
	switch {
	case b.Cached > 0 || len(b.Links) > 0 || len(b.Crates) > 0 || b.upToDate():
	case use == nil && b.Files == 0 && b.Bitcode > 0 && len(b.Untouched) == 0:
		return fmt.Errorf("build: nothing was instrumented: %s compiled to bitcode, which gets probes when lld links it, and none was linked; use --allow-nothing if this is expected", report.Plural(b.Bitcode, "file"))
	case use != nil && b.Use == nil && len(b.Untouched) > 0:
		return fmt.Errorf("build: nothing was built by %s: all compiled files are listed above as skipped", use.Profile)
	case use != nil && b.Use != nil && b.Use.Files == 0 && b.Use.Laid == 0 && len(b.Use.Kept) > 0:
		return fmt.Errorf("build: nothing was built by %s: what is listed above could not be done", use.Profile)
	case use != nil && (b.Use == nil || b.Use.Files == 0 && b.Use.Laid == 0):
		return fmt.Errorf("build: nothing was built by %s: %s", use.Profile, cleanFirst)
	case use == nil && b.Files == 0 && b.Empty > 0:
		return fmt.Errorf("build: nothing was instrumented: none of %s compiled has a function that the flags select (--only, --skip, --min-instructions); use --allow-nothing if this is expected", report.Plural(b.Empty, "file"))
	case use == nil && b.Files == 0 && b.Checks > 0 && len(b.Untouched) == 0:
		return fmt.Errorf("build: nothing was instrumented: %s compiled are checks of the build system, and everything else was up to date; use --allow-nothing if this is expected", report.Plural(b.Checks, "file"))
	case use == nil && b.Files == 0 && len(b.Untouched) == 0:
		return fmt.Errorf("build: nothing was instrumented: %s", cleanFirst)
	case use == nil && b.Files == 0:
		return errors.New("build: nothing was instrumented: all compiled files are listed above, with the reasons; use --allow-nothing if this is expected")
	}
	return nil
}

// Print writes the summary for a reader.
func (b *buildSummary) Print(s *verb.Streams) {
	if b.Files+len(b.Crates) > 0 {
		blocks := ""
		if mode, _ := prof.ParseMode(b.Mode); mode.HasBlocks() {
			blocks = ", " + report.Plural(b.Blocks, "block")
		}
		what, again := b.compiled(), ""
		if b.Compiled > b.Files {
			again = fmt.Sprintf(" (%s)", report.Plural(b.Compiled, "compilation"))
		}
		fmt.Fprintf(s.Err, "cairn: build: instrumented %s%s in mode %s: %s%s\n",
			what, again, b.Mode, report.Plural(b.Functions, "function"), blocks)
	}
	if b.Proof != nil {
		b.Proof.print(s)
	}
	if n := len(b.Unlinked); n > 0 {
		fmt.Fprintf(s.Err, "  in no program: %s, which no link of this build was given (%s)\n", report.Plural(n, "file"), firstNames(b.Unlinked))
	}
	printReasons(s, "skipped", "function", b.Skipped)
	if len(b.EntryOnly) > 0 {
		printReasons(s, "entry only", "function", map[string][]string{"a branch, table or literal with limited range": b.EntryOnly})
	}
	printReasons(s, "without probes", "file", b.Untouched)
	b.printRust(s)
	b.printCaught(s)
}

// PrintUse writes the summary of a build by a profile.
func (b *buildSummary) PrintUse(s *verb.Streams, use *useOptions) {
	if b.Use != nil {
		b.Use.print(s, use)
	}
	if b.Proof != nil {
		b.Proof.print(s)
	}
	printReasons(s, "skipped", "file", b.Untouched)
	b.printCaught(s)
}

// printCaught prints what came from ccache, and which launchers and compilers were bypassed or missed.
func (b *buildSummary) printCaught(s *verb.Streams) {
	if b.Cached > 0 {
		fmt.Fprintf(s.Err, "cairn: build: %s came from ccache, built earlier by cairn with the same flags\n", report.Plural(b.Cached, "file"))
	}
	for _, name := range b.Links {
		fmt.Fprintf(s.Err, "cairn: build: the code of %s came from the ThinLTO cache, built earlier by cairn with the same flags\n", name)
	}
	for _, name := range b.PassedBy {
		fmt.Fprintf(s.Err, "  not used: %s, which compiles on hosts without cairn; everything was compiled locally\n", name)
	}
	for _, path := range b.Uncaught {
		fmt.Fprintf(s.Err, "  not intercepted: %s compiled something without cairn; make the build start cairn cc %s\n", path, path)
	}
}

func printReasons(s *verb.Streams, what, unit string, reasons map[string][]string) {
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		names := reasons[why]
		shown := firstNames(shownNames(names[:min(len(names), 4)], unit))
		fmt.Fprintf(s.Err, "  %s: %s, %s (%s)\n", what, report.Plural(len(names), unit), why, shown)
	}
}

// firstNames joins the first three of names.
func firstNames(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// shownNames are names as people know them.
func shownNames(names []string, unit string) []string {
	if unit != "function" {
		return names
	}
	short := report.Names{Short: true}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = short.Show(name)
	}
	return shown
}
