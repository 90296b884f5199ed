package native

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asm"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// A classified instruction has a kind, and the target of a branch.
type classified struct {
	insn   string
	kind   asm.Flow
	target string
}

func checkClassify(t *testing.T, on isa, tests []classified) {
	t.Helper()
	for _, test := range tests {
		word, rest := test.insn, ""
		if i := strings.IndexAny(test.insn, " \t"); i >= 0 {
			word, rest = test.insn[:i], test.insn[i:]
		}
		kind, target := on.Classify([]byte(word), []byte(rest))
		if kind != test.kind || string(target) != test.target {
			t.Errorf("%s: %d %q, want %d %q", test.insn, kind, target, test.kind, test.target)
		}
	}
}

// rewriteTwice rewrites any text with all options, if it can be parsed.
func rewriteTwice(t *testing.T, src []byte, m machine.Kind, all []Options) {
	for _, opts := range all {
		unit, err := Parse(src, m)
		if err != nil {
			return
		}
		out, _ := Rewrite(unit, opts)
		again, _ := Rewrite(unit, opts)
		if !bytes.Equal(out, again) {
			t.Fatalf("%v: a second rewrite differs", opts.Mode)
		}
	}
}
