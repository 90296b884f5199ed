package nativert

import (
	"fmt"
	"go/constant"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/golden"
)

// TestHeaders: the constants that C and assembly see are those of the packages wire, which
// list them once. -update writes the headers.
func TestHeaders(t *testing.T) { // not in parallel: the archive of TestHeaderArchive has what it writes
	fnv := "#define CAIRN_FNV_BASIS 2166136261u\n#define CAIRN_FNV_PRIME 16777619u\n"
	for _, h := range []struct{ file, source, prefix, suffix, more string }{
		{"c/wire.h", "format/mip/wire", "CAIRN_", "", fnv},
		{"c/timed/timedwire.h", "format/tracelog/wire", "LOG_", "u", ""},
	} {
		golden.Compare(t, h.file, append(defines(t, h.source, h.prefix, h.suffix), h.more...))
	}
}

// TestHeaderArchive checks that the program has the sources of the directory. -update writes the archive, after the
// headers above.
func TestHeaderArchive(t *testing.T) {
	golden.Archive(t, "sources.zst", files(), "c")
}

// wordEnd is where a word of a Go name ends: dA, or the end of an abbreviation, IDLen.
var wordEnd = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// defines returns a C header with the constants of a package that imports nothing. RawSize
// is PREFIX_RAW_SIZE there; numbers end with a suffix, and those that need 32 bits, or are
// negative, are hexadecimal.
func defines(t *testing.T, pkg, prefix, suffix string) []byte {
	t.Helper()
	out := fmt.Appendf(nil, "/* The constants of package %s, of which TestHeaders makes this file. */\n", pkg)
	for _, c := range golden.Constants(t, "../../../"+pkg+"/wire.go") {
		out = fmt.Appendf(out, "#define %s%s ", prefix, strings.ToUpper(wordEnd.ReplaceAllString(c.Name(), "${1}${3}_${2}${4}")))
		value := constant.ToInt(c.Val())
		n, exact := constant.Int64Val(value)
		switch {
		case c.Val().Kind() == constant.String:
			out = fmt.Appendf(out, "%q\n", constant.StringVal(c.Val()))
		case !exact:
			t.Fatalf("%s is no integer", c.Name())
		case n < 0 || n >= 1<<31:
			out = fmt.Appendf(out, "%#x%s\n", uint32(n), suffix)
		default:
			out = fmt.Appendf(out, "%d%s\n", n, suffix)
		}
	}
	return out
}
