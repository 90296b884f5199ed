package linkorder

import (
	"fmt"
	"slices"
	"strings"
)

// maxNames is the maximum number of names in a warning.
const maxNames = 5

// Warnings returns warnings for the user about linking with an order file of format f, one
// line each. skipped is the result of Render.
func (r *Resolution) Warnings(f Format, skipped []string) []string {
	rep := &r.Report
	var lines []string
	warn := func(names []string, what string) {
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("%d of %d functions %s: %s", len(names), rep.Listed, what, list(names)))
		}
	}
	warn(rep.Vanished, "the linker will not find (inlined, dropped or renamed)")
	warn(slices.DeleteFunc(slices.Clone(rep.Misplaced), fromStartFiles), "keep their place: without a size or outside .text")
	warn(r.inseparable(f), "share their names with others, which move along")
	warn(rep.Crowded, "share their sections with others, which move along (compile with -ffunction-sections)")
	warn(skipped, "cannot be named in this format")
	return lines
}

// startFiles are the functions of the C library's start files. They are in every program, and
// too small to matter.
var startFiles = []string{
	"_init", "_fini", "_start", "frame_dummy", "register_tm_clones", "deregister_tm_clones", "__do_global_dtors_aux",
	"__do_global_ctors_aux", "_dl_relocate_static_pie", "__libc_csu_init", "__libc_csu_fini",
}

func fromStartFiles(name string) bool { return slices.Contains(startFiles, name) }

// inseparable returns the ambiguous symbols that format f cannot distinguish.
func (r *Resolution) inseparable(f Format) []string {
	var names []string
	seen := map[string]bool{}
	for i := range r.Entries {
		e := &r.Entries[i]
		told := false
		switch f {
		case FormatLD64:
			told = e.Local && (e.Object.Leaf != "" || e.Source != "")
		case FormatLD, FormatLDScript, FormatPEScript:
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

// list joins names, only the first of them if there are many.
func list(names []string) string {
	more := len(names) - maxNames
	if more <= 0 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), more)
}
