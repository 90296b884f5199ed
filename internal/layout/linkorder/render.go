package linkorder

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// Render writes an order file. skipped has the names that could not be written: the format
// cannot represent them, or their section contains other functions too and has a name like
// .text.
func Render(f Format, entries []Entry) (text []byte, skipped []string) {
	w := writer{seen: map[string]bool{}}
	if f.isScript() {
		w.script(f, entries)
	} else {
		for i := range entries {
			w.entry(f, &entries[i])
		}
	}
	return w.out.Bytes(), w.skipped
}

type writer struct {
	out     bytes.Buffer
	seen    map[string]bool
	skipped []string
}

// entry writes the lines of one function.
func (w *writer) entry(f Format, e *Entry) {
	var lines []string
	switch f {
	case FormatLLD, FormatLLDLink:
		lines = []string{e.Symbol}
	case FormatLD64:
		lines = ld64Lines(e)
	case FormatGold:
		lines = named(e.Sections)
	case FormatLD, FormatLDScript:
		lines = statements(e)
	case FormatPEScript:
		lines = statements(ofCOFF(e))
	}
	written := false
	for _, line := range lines {
		if !spellable(f, line) {
			continue
		}
		written = true
		if !w.seen[line] {
			w.seen[line] = true
			if f.isScript() {
				w.out.WriteString("    ")
			}
			w.out.WriteString(line)
			w.out.WriteByte('\n')
		}
	}
	if !written {
		w.skipped = append(w.skipped, e.Symbol)
	}
}

// isScript reports whether the file has statements of GNU ld.
func (f Format) isScript() bool { return f == FormatLD || f == FormatLDScript || f == FormatPEScript }

// ofCOFF returns the entry with the names of sections in objects for Windows: that of a function is behind a $, but for those that
// run at the start, often or seldom.
func ofCOFF(e *Entry) *Entry {
	out := *e
	out.Sections = nil
	for _, s := range e.Sections {
		if s == ".text."+e.Symbol {
			s = ".text$" + e.Symbol
		}
		out.Sections = append(out.Sections, s)
	}
	return &out
}

// spellable reports whether the format's reader interprets a line as intended. Only linker
// scripts have quotes, which statements handles.
func spellable(f Format, line string) bool {
	for _, c := range []byte(line) {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	switch f {
	case FormatLLD, FormatLLDLink:
		return line == strings.TrimSpace(line) && line != "" && line[0] != '#'
	case FormatLD64:
		return !strings.Contains(line, "#")
	case FormatGold:
		return !strings.ContainsAny(line, " *?[#") // blanks, globs and comments
	}
	return true
}

// bare are the sections for functions that have none of their own.
var bare = map[string]bool{
	".text": true, ".text.unlikely": true, ".text.hot": true, ".text.startup": true, ".text.exit": true, ".text.split": true,
}

// named returns the sections whose name contains that of their function.
func named(sections []string) []string {
	var names []string
	for _, s := range sections {
		if !bare[s] {
			names = append(names, s)
		}
	}
	return names
}

// ld64Lines returns the lines of a symbol, with its object if the link has others of its name.
// ld64 ignores lines that match nothing, so an unknown object may be guessed from the source
// file: the name as compilers form it, and that of CMake, which keeps the suffix.
func ld64Lines(e *Entry) []string {
	symbol := "_" + e.Symbol
	if strings.HasPrefix(e.Symbol, "-[") || strings.HasPrefix(e.Symbol, "+[") {
		symbol = e.Symbol // a method of Objective-C
	}
	switch {
	case !e.SharedName || !e.Local:
		return []string{symbol}
	case e.Object.Leaf != "":
		return []string{e.Object.Leaf + ":" + symbol}
	case e.Source != "":
		base := path.Base(e.Source)
		return []string{strings.TrimSuffix(base, path.Ext(base)) + ".o:" + symbol, base + ".o:" + symbol}
	}
	return []string{symbol}
}

// statements returns the input section descriptions of a function, each on a line: within one
// description sections are in input order, not in that of the list. A section is qualified by
// its object if its name is not unique.
func statements(e *Entry) []string {
	var lines []string
	for _, s := range e.Sections {
		switch {
		case e.Object.Path != "" && (e.SharedSection || bare[s]):
			name, section := quote("", e.Object.Path), quote("", s)
			if name == "" || section == "" {
				continue
			}
			// The linker matches the whole path, as given on the command line.
			lines = append(lines, fmt.Sprintf("%s(%s) %s(%s)", asGlob(name), section, quote("*/", e.Object.Path), section))
		case !bare[s] && quote("", s) != "":
			lines = append(lines, fmt.Sprintf("*(%s)", quote("", s)))
		}
	}
	return lines
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$/+-:"

// quote quotes s after a glob in a linker script, or returns "" if it cannot be represented:
// globs are active in quotes too.
func quote(glob, s string) string {
	switch {
	case s == "" || strings.ContainsAny(s, "\"\\\n*?["):
		return ""
	case strings.Trim(s, plain) == "":
		return glob + s
	}
	return `"` + glob + s + `"`
}

// asGlob returns a glob that matches exactly this file name. GNU ld opens a file that is named
// without a glob, and fails if it is linked by another path.
func asGlob(name string) string {
	if strings.Contains(name, ":") {
		return name // in an archive, which the linker does not open
	}
	i := strings.IndexFunc(name, func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' })
	if i < 0 {
		return "*" + name
	}
	return name[:i] + "[" + name[i:i+1] + "]" + name[i+1:]
}

// script writes the statements in an output section, which is the format of
// --section-ordering-file. A script for -T needs more: what it inserts is matched before the
// default script, but creates a second .text beside the default one unless it contains all
// input sections of the default one. For Windows the functions have a section of their own, behind .text: the linker makes an invalid
// program of two with one name, and crashes if it is in front.
func (w *writer) script(f Format, entries []Entry) {
	switch f {
	case FormatLD:
		w.out.WriteString("  .text :\n  {\n")
	case FormatLDScript:
		w.out.WriteString("SECTIONS\n{\n  .text :\n  {\n")
	case FormatPEScript:
		w.out.WriteString("SECTIONS\n{\n  .texto BLOCK(__section_alignment__) :\n  {\n")
	}
	for i := range entries {
		w.entry(f, &entries[i])
	}
	if f == FormatLDScript {
		w.out.WriteString(rest)
	}
	w.out.WriteString("  }\n")
	switch f {
	case FormatLDScript:
		w.out.WriteString("}\nINSERT BEFORE .fini;\n")
	case FormatPEScript:
		w.out.WriteString("}\nINSERT AFTER .text;\n")
	}
}

// rest is the .text of GNU ld's default script for ELF on x86-64.
const rest = `    *(.text.unlikely .text.*_unlikely .text.unlikely.*)
    *(.text.exit .text.exit.*)
    *(.text.startup .text.startup.*)
    *(.text.hot .text.hot.*)
    *(SORT(.text.sorted.*))
    *(.text .stub .text.* .gnu.linkonce.t.*)
    *(.gnu.warning)
`
