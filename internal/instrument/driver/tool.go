package driver

import (
	"path/filepath"
	"runtime"
	"strings"
)

// ToolName returns the name of the program at a path. On Windows it is without .exe and in lower case: programs are found
// in any case there.
func ToolName(path string) string { return toolName(filepath.Base(path), runtime.GOOS) }

func toolName(base, goos string) string {
	if goos != "windows" {
		return base
	}
	return strings.TrimSuffix(strings.ToLower(base), ".exe")
}

// JoinResponse returns the text of a response file with these words, as SplitResponse reads it: that of gcc, clang and GNU ld.
func JoinResponse(words []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var out strings.Builder
	for _, w := range words {
		out.WriteString(`"` + escape.Replace(w) + "\"\n")
	}
	return out.String()
}

// JoinCL is JoinResponse for tools with the rules of Microsoft's: clang-cl, lld-link, and all linkers of LLVM on Windows.
func JoinCL(words []string) string {
	var out strings.Builder
	for _, w := range words {
		out.WriteByte('"')
		backslashes := 0
		for i := range len(w) {
			switch w[i] {
			case '\\':
				backslashes++
			case '"':
				out.WriteString(strings.Repeat(`\`, backslashes+1))
				backslashes = 0
			default:
				backslashes = 0
			}
			out.WriteByte(w[i])
		}
		out.WriteString(strings.Repeat(`\`, backslashes) + "\"\n")
	}
	return out.String()
}
