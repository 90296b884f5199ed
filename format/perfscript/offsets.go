package perfscript

import (
	"bytes"

	"github.com/cairnprof/cairn/sample"
)

// perf script -F brstackoff prints an end of a branch as an offset in its file, unless perf happened to read the symbols
// of that file before: then it is an address, on the same line. Files are printed with dso, mappings with
// --show-mmap-events. A number can be both, so that branches cannot be told from others: where the beginning of a text
// has an offset, its branches are not used. The same perf.data prints addresses as well.

// mappings are those of code in the first block, by the path of their files. It is nil in other blocks, which are
// parsed at the same time as those before.
type mappings map[string][]sample.Mapping

func (m mappings) add(e *sample.Event) {
	const most = 1 << 14
	if x := &e.Mapping; e.Kind == sample.Map && x.Exec && !x.Linked && len(m) < most && len(m[x.Path]) < most {
		m[x.Path] = append(m[x.Path], *x)
	}
}

// lowest is the first address that a process has code at: Linux does not map the first 64 KiB (vm.mmap_min_addr).
const lowest = 1 << 16

// isOffset reports whether an end of a branch is an offset in a file.
func (m mappings) isOffset(addr uint64, file []byte) bool {
	switch {
	case addr == 0: // not recorded
		return false
	case addr < lowest:
		return len(file) > 0 || len(m) > 0
	case len(file) == 0:
		return false
	}
	inFile := false
	for i := range m[string(file)] {
		x := &m[string(file)][i]
		if x.Contains(addr) {
			return false
		}
		inFile = inFile || addr-x.Offset < x.Size
	}
	return inFile
}

// offset reports whether an end is an offset.
func (p *parser) offset(x *branchText) bool {
	if x.fromID != nil || x.toID != nil {
		return false
	}
	return p.mapped.isOffset(x.from, fileOf(x.fromFile)) || p.mapped.isOffset(x.to, fileOf(x.toFile))
}

// fileOf returns what is in parentheses.
func fileOf(s []byte) []byte { return bytes.TrimSuffix(bytes.TrimPrefix(s, []byte("(")), []byte(")")) }
