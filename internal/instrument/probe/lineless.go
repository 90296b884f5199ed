package probe

import (
	"strconv"
)

// Compilers give code that has no line the line 0 (DWARF 5, section 6.2.2). GNU as drops such a .loc directive, so that
// the code gets the line before it, which did not run where this code did. It keeps line 0 in a row that it makes for a
// label, which .loc_mark_labels asks for.

// lineless inserts the rows of code without a line. They are the first insertions, as probes may be at the same offset.
func (r *Rewriter) lineless() {
	for i, at := range r.Unit.Lineless {
		r.Insert(at, linelessRow(i))
	}
}

// linelessRow returns the directives behind a .loc directive with line 0 that make GNU as keep it.
func linelessRow(number int) string {
	return "\t.loc_mark_labels 1\n.Lcairn_z" + strconv.Itoa(number) + ":\n\t.loc_mark_labels 0\n"
}

// LinelessSample returns assembly of any machine with two instructions, of which the first has a line and the other has
// none, for an assembler that has rows for labels as GNU as does.
func LinelessSample() []byte {
	return []byte("\t.text\n\t.file 1 \"a.c\"\n\t.loc 1 1 0\n\tnop\n\t.loc 1 0 0\n" + linelessRow(0) + "\tnop\n")
}
