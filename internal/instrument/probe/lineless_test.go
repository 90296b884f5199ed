package probe

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/prof"
)

// TestLineless checks that text for GNU as keeps which code has no line, and other text is left as it is.
func TestLineless(t *testing.T) {
	t.Parallel()
	src := []byte("\t.text\n\t.type f,@function\nf:\n\t.loc 1 3 0\n\tpushq %rbp\n.LBB0_1:\n\t.loc 1 0 2\n\tpopq %rbp\n\tretq\n\t.size f, .-f\n")
	for _, lineless := range []bool{false, true} {
		unit, err := isa.Parse(src, machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		if !unit.HasLineless() {
			t.Error("no code without a line")
		}
		out, _ := Rewrite(unit, Options{Mode: prof.ModeBlock, Lineless: lineless})
		want := "\t.loc 1 0 2\n"
		if lineless {
			want += linelessRow(0)
		}
		// The block's label is behind the row, as its probe would be.
		if want += ".Lcairn_b1:\n"; !strings.Contains(string(out), want) {
			t.Errorf("lineless %v: no %q in\n%s", lineless, want, out)
		}
	}
	unit, err := isa.Parse([]byte(strings.ReplaceAll(string(src), "1 0 2", "1 4 2")), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	if unit.HasLineless() {
		t.Error("all code has a line")
	}
}
