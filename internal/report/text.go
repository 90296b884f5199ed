package report

import (
	"fmt"
	"strings"
)

// MaxDotLabel is the maximum length of a name in a drawing before its middle is cut.
const MaxDotLabel = 60

// DotEscape quotes s for a dot string, in which "&lt;" and the like are entities.
func DotEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", `\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// SourceText returns file:line as far as they are known.
func SourceText(file string, line int) string {
	file = Printable(file)
	if file == "" || line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}
