package linkorder

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// Format is a kind of order file.
type Format string

// The formats.
const (
	FormatLLD      Format = "lld"       // symbols, for lld --symbol-ordering-file
	FormatLD64     Format = "ld64"      // symbols with an underscore, for -order_file of ld64 and ld64.lld
	FormatGold     Format = "gold"      // section names, for gold --section-ordering-file
	FormatLD       Format = "ld"        // statements of .text, for GNU ld --section-ordering-file, from 2.43 on
	FormatLDScript Format = "ld-script" // a linker script for -T, for any GNU ld
	FormatLLDLink  Format = "lld-link"  // symbols, for /order of lld-link and of lld for Windows
	FormatPEScript Format = "pe-script" // a linker script for -T, for GNU ld that makes programs for Windows
)

// formatNames lists the names that ParseFormat accepts. symbols and sections name the content
// of the lines, for users who do not know a linker's name.
var formatNames = map[string]Format{
	"lld": FormatLLD, "symbols": FormatLLD, "ld64": FormatLD64, "ld64.lld": FormatLD64,
	"gold": FormatGold, "sections": FormatGold, "ld": FormatLD, "ld-script": FormatLDScript, "pe-script": FormatPEScript, "lld-link": FormatLLDLink,
}

var errMold = errors.New("mold does not support order files: link with lld (-fuse-ld=lld), GNU ld or gold")

// ParseFormat returns the format with a name. The error lists the formats.
func ParseFormat(name string) (Format, error) {
	if f, ok := formatNames[name]; ok {
		return f, nil
	}
	if name == string(Mold) {
		return "", errMold
	}
	return "", fmt.Errorf("unknown format %q: must be auto, lld (or symbols), ld64, gold (or sections), ld, ld-script, lld-link or pe-script", name)
}

// Linker is a linker program.
type Linker string

// The linkers, by the names of their programs.
const (
	LLD     Linker = "ld.lld"
	LD64LLD Linker = "ld64.lld"
	LD64    Linker = "ld64" // Apple's
	Gold    Linker = "gold"
	GNULD   Linker = "ld.bfd"
	Mold    Linker = "mold"
	LLDLink Linker = "lld-link" // LLVM's for MSVC's system
)

// Version is a linker's version.
type Version struct{ Major, Minor int }

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor)) < 0
}

// String returns the version as linkers print it.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// sectionOrderingLD is the first GNU ld with --section-ordering-file.
var sectionOrderingLD = Version{2, 43}

// The first linkers with -z pack-relative-relocs.
var relrLLD, relrLD = Version{15, 0}, Version{2, 38}

// versionLines match the output of linkers for --version (Apple's for -v). The last two
// numbers of a match are the major and minor version.
var versionLines = []struct {
	linker Linker
	line   func() *regexp.Regexp
}{
	{LD64, lazyregexp.New(`PROJECT:(?:ld64|ld|dyld)-(\d+)(?:\.(\d+))?`)},
	{Mold, lazyregexp.New(`(?m)^(?:mold|mold \(sold\)|sold) (\d+)\.(\d+)`)},
	{LLD, lazyregexp.New(`LLD (\d+)\.(\d+)\S*.* \(compatible with GNU linkers\)`)},
	{LD64LLD, lazyregexp.New(`LLD (\d+)\.(\d+)`)},
	{Gold, lazyregexp.New(`GNU gold \(.*?\b(\d+)\.(\d+)`)},
	{GNULD, lazyregexp.New(`(?m)^GNU ld\b.*?(\d+)\.(\d+)[-.\w]*$`)},
}

// DetectLinker returns the linker and version from the output of its version flag. Gold's
// version is that of its binutils. For an unknown linker it returns "".
func DetectLinker(versionOutput string) (Linker, Version) {
	for _, v := range versionLines {
		if m := v.line().FindStringSubmatch(versionOutput); m != nil {
			major, _ := strconv.Atoi(m[1])
			minor, _ := strconv.Atoi(m[2])
			return v.linker, Version{major, minor}
		}
	}
	return "", Version{}
}

// Format returns the order-file format of the linker. If it has none, the error suggests what
// to do.
func (l Linker) Format(v Version) (Format, error) {
	switch l {
	case LLD:
		return FormatLLD, nil
	case LD64, LD64LLD:
		return FormatLD64, nil
	case Gold:
		return FormatGold, nil
	case GNULD:
		if v.Less(sectionOrderingLD) {
			return FormatLDScript, nil
		}
		return FormatLD, nil
	case LLDLink:
		return FormatLLDLink, nil
	case Mold:
		return "", errMold
	}
	return "", errors.New("unknown linker: must be lld, GNU ld, gold or ld64")
}

// ForWindows returns the format by which the linker that has format f orders a program for Windows.
func (f Format) ForWindows() Format {
	if f == FormatLLD || f == FormatLLDLink {
		return FormatLLDLink
	}
	return FormatPEScript
}

// PacksRelocations reports whether the linker makes packed relocations (DT_RELR) that a libc which cannot read them refuses.
// GNU ld does so for x86-64.
func (l Linker) PacksRelocations(v Version, x64 bool) bool {
	return l == LLD && !v.Less(relrLLD) || l == GNULD && x64 && !v.Less(relrLD)
}

// Args returns the arguments with which a compiler driver makes its linker, which supports
// format f, use the order file at path.
func (f Format) Args(path string) []string {
	switch f {
	case FormatLLD:
		// The report already lists the names that no longer exist.
		return append(forLinker("--symbol-ordering-file="+path), forLinker("--no-warn-symbol-ordering")...)
	case FormatLLDLink:
		var args []string
		for _, word := range lldLinkArgs(path) {
			args = append(args, forLinker("-Xlink="+word)...)
		}
		return args
	case FormatLD64:
		return append(forLinker("-order_file"), forLinker(path)...)
	case FormatGold, FormatLD:
		return forLinker("--section-ordering-file=" + path)
	case FormatLDScript, FormatPEScript:
		return append(forLinker("-T"), forLinker(path)...)
	}
	return nil
}

// lldLinkArgs returns the options of lld-link. The report already lists the names that no longer exist (4037).
func lldLinkArgs(path string) []string { return []string{"/order:@" + path, "/ignore:4037"} }

// MSVCArgs returns the arguments with which clang, whose target is MSVC's system, makes lld-link use the order file at path.
func MSVCArgs(path string) []string {
	var args []string
	for _, word := range lldLinkArgs(path) {
		args = append(args, "-Xlinker", word)
	}
	return args
}

// Args returns the arguments with which a compiler driver makes this linker use the order file
// at path, or nil if it does not support order files.
func (l Linker) Args(v Version, path string) []string {
	f, err := l.Format(v)
	if err != nil {
		return nil
	}
	return f.Args(path)
}

// forLinker passes a word through the driver. A comma ends a word of -Wl.
func forLinker(word string) []string {
	if strings.Contains(word, ",") {
		return []string{"-Xlinker", word}
	}
	return []string{"-Wl," + word}
}
