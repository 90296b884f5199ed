package shorttest

import (
	"bytes"
	"os"
	"testing"
)

// Variable selects tests: "quick" are those of make test, "proof" those of make proof; unset, all run.
const Variable = "CAIRN_TESTS"

// Proof marks a test that takes long because it runs what cannot be had cheaply: many compilers, emulators, programs
// of strangers. make proof runs it, make test does not. It is the first statement of a test, where scripts/proofs.sh
// finds it.
func Proof(t testing.TB) {
	t.Helper()
	if os.Getenv(Variable) == "quick" {
		t.Skip("make proof runs it")
	}
}

// proofLine marks a script that is a proof. It is the first one.
const proofLine = "# proof\n"

// Selects reports whether a script is among the tests that run.
func Selects(script []byte) bool {
	switch os.Getenv(Variable) {
	case "quick":
		return !bytes.HasPrefix(script, []byte(proofLine))
	case "proof":
		return bytes.HasPrefix(script, []byte(proofLine))
	}
	return true
}
