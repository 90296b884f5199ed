package export

import "slices"

// The symbols between which Chromium's binaries want all ordered code (its
// base/android/library_loader/anchor_functions.cc).
const (
	startAnchor = "dummy_function_start_of_ordered_text"
	endAnchor   = "dummy_function_end_of_ordered_text"
)

// Orderfile returns the lines of an orderfile in the form that Chromium's
// tools/cygprofile/patch_orderfile.py writes for lld: each symbol with the others at its
// address (the linker folds equal functions), each once, between the anchors if the binary has
// them. Symbols that the binary does not have are dropped. Without symbols of a binary, names
// are not changed: the result is an unpatched orderfile.
func Orderfile(names []string, symbols []Symbol) []string {
	if len(symbols) == 0 {
		return names
	}
	addrs := map[string][]uint64{}
	aliases := map[uint64][]string{}
	for _, s := range symbols {
		addrs[s.Name] = append(addrs[s.Name], s.Addr)
		aliases[s.Addr] = append(aliases[s.Addr], s.Name)
	}
	seen := map[string]bool{startAnchor: true, endAnchor: true}
	var out []string
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, name := range names {
		if len(addrs[name]) == 0 {
			continue
		}
		add(name)
		for _, addr := range addrs[name] {
			for _, alias := range aliases[addr] {
				add(alias)
			}
		}
	}
	if len(addrs[startAnchor]) > 0 {
		out = slices.Insert(out, 0, startAnchor)
	}
	if len(addrs[endAnchor]) > 0 {
		out = append(out, endAnchor)
	}
	return out
}

// OrderSections returns the lines of an orderfile as Chromium's cygprofile wrote it for gold,
// which orders sections. Compilers place functions in one of these sections, and the linker
// ignores missing ones. Code without a separate section, such as assembly, comes last.
func OrderSections(names []string) []string {
	out := make([]string, 0, 3*len(names)+1)
	for _, name := range names {
		out = append(out, ".text.startup."+name, ".text.hot."+name, ".text."+name)
	}
	return append(out, ".text")
}
