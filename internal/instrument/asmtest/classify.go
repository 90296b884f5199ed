package asmtest

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Classified is an instruction with a kind, and the target of a branch.
type Classified = struct {
	Insn   string
	Kind   asm.Flow
	Target string
}

// CheckClassify checks what a machine takes instructions for.
func CheckClassify(t *testing.T, on asm.Machine, tests []Classified) {
	t.Helper()
	for _, test := range tests {
		word, rest := test.Insn, ""
		if i := strings.IndexAny(test.Insn, " \t"); i >= 0 {
			word, rest = test.Insn[:i], test.Insn[i:]
		}
		kind, target := on.Classify([]byte(word), []byte(rest))
		if kind != test.Kind || string(target) != test.Target {
			t.Errorf("%s: %d %q, want %d %q", test.Insn, kind, target, test.Kind, test.Target)
		}
	}
}
