package verb

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
)

// MaxDotLabel is how long a name in a drawing may be before its middle goes.
const MaxDotLabel = 60

// DotEscape quotes s for a dot string, in which "&lt;" and its like mean signs.
func DotEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", `\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// TrimPath returns err without the path in front of it.
func TrimPath(err error, path string) string {
	return strings.TrimPrefix(err.Error(), path+": ")
}

// AtLeast returns the mark of a number that is a lower bound.
func AtLeast(inexact bool) string {
	if inexact {
		return ">= "
	}
	return ""
}

// SourceText returns file:line as far as they are known.
func SourceText(file string, line int) string {
	file = report.Printable(file)
	if file == "" || line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Unversioned is a symbol without the version that dynamic ones have.
func Unversioned(symbol string) string {
	name, _, _ := strings.Cut(symbol, "@")
	return cmp.Or(name, symbol)
}
