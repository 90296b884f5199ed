package verb

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
)

// MaxDotLabel is the maximum length of a name in a drawing before its middle is cut.
const MaxDotLabel = 60

// DotEscape quotes s for a dot string, in which "&lt;" and the like are entities.
func DotEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", `\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// TrimPath returns the text of err without the path at its start.
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
