package rewrite

import (
	"bytes"
	"strings"
)

// The compiler gets other text than the files that import "C": cgo replaces calls of C by other expressions,
// among them function literals, and lines by fewer. The places of blocks and units are those of the original.

// CgoOriginal returns the path of the file that cgo made the text src from, as its line directive has it; "" if
// it made it from none.
func CgoOriginal(name string, src []byte) string {
	const directive, start = "\n//line ", ":1:1\n"
	if !strings.HasSuffix(name, ".cgo1.go") {
		return ""
	}
	_, rest, _ := bytes.Cut(src, []byte(directive))
	path, _, ok := bytes.Cut(rest, []byte(start))
	if !ok || bytes.ContainsAny(path, "\n\x00") {
		return ""
	}
	return string(path)
}

// CgoFile is File for text that cgo made of the text original of a file.
func (r *Rewriter) CgoFile(name string, src, original []byte) ([]byte, error) {
	before := len(r.Funcs)
	text, err := r.File(name, src)
	if err != nil {
		return nil, err
	}
	source := New(r.opts)
	if _, err := source.File(CgoOriginal(name, src), original); err != nil {
		return text, nil // the places are those of what cgo made
	}
	made := r.Funcs[before:]
	for i := range made {
		if i < len(source.Funcs) {
			made[i].placeAs(&source.Funcs[i])
		}
	}
	return text, nil
}

// placeAs gives f the places of the same function in its original text, if it is divided in the same way.
func (f *Func) placeAs(o *Func) {
	if f.Name != o.Name || len(f.Blocks) != len(o.Blocks) || len(f.Units) != len(o.Units) {
		return
	}
	for i := range f.Units {
		if f.Units[i].Statements != o.Units[i].Statements || f.Units[i].Block != o.Units[i].Block {
			return
		}
	}
	f.File, f.Line, f.Signature, f.Blocks, f.Rest, f.Units, f.UnitFile = o.File, o.Line, o.Signature, o.Blocks, o.Rest, o.Units, o.UnitFile
}
