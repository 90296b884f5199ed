package coverage

import "testing"

func TestThirdOperand(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]bool{
		"f() - 15 : 0;": true, "f(a, b ? c : d) : e": true, "a ? b : c : d;": true, "x::f() : 1;": true, "f() : // zero": false,
		"f() :": false, "f();": false, "a ? b : c": false, "x::f()": false, "f(a): g(b)": true, "b) : c": false, "f(':') : 0": true, "": false,
	} {
		if got := thirdOperand(rest); got != want {
			t.Errorf("%q: %v", rest, got)
		}
	}
}

func TestBeginsOperand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a > b ?\n\t": true, "?\n digits": true, "? std::max": true, "? p->q.f": true, "? -": true,
		"a > b": false, "? f() : ": false, "? f(": false, "? a : b": false, "? a, b": false, "": false,
	} {
		if got := beginsOperand(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
