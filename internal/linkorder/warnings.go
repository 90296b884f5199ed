package linkorder

import (
	"fmt"
	"strings"
)

// maxNames is how many names a warning lists.
const maxNames = 5

// Warnings returns what a user should know before linking with an order file
// of format f, one line each. skipped is what Render could not write.
func (r *Resolution) Warnings(f Format, skipped []string) []string {
	rep := &r.Report
	var lines []string
	warn := func(names []string, what string) {
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("%d of %d functions %s: %s", len(names), rep.Listed, what, list(names)))
		}
	}
	warn(rep.Vanished, "the linker will not find (inlined, dropped or renamed)")
	warn(rep.Misplaced, "stay where they are, without a size or outside .text")
	warn(r.inseparable(f), "share their names with others, which move along")
	warn(rep.Crowded, "share their sections with others, which move along (compile with -ffunction-sections)")
	warn(skipped, "cannot be named in this format")
	return lines
}

// inseparable returns the ambiguous symbols that format f cannot tell apart.
func (r *Resolution) inseparable(f Format) []string {
	var names []string
	seen := map[string]bool{}
	for i := range r.Entries {
		e := &r.Entries[i]
		told := false
		switch f {
		case FormatLD64:
			told = e.Local && (e.Object.Leaf != "" || e.Source != "")
		case FormatLD, FormatLDScript:
			told = e.Object.Path != "" || !e.SharedSection
		case FormatGold:
			told = !e.SharedSection
		}
		if e.SharedName && !told && !seen[e.Symbol] {
			seen[e.Symbol] = true
			names = append(names, e.Symbol)
		}
	}
	return names
}

// list joins names, the first of them if there are many.
func list(names []string) string {
	more := len(names) - maxNames
	if more <= 0 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), more)
}
