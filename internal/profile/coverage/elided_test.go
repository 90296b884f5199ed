package coverage

import "testing"

// placed are Sources of one text, in which the address of an instruction is its place.
type placed struct {
	noSources
	text  string
	asked []uint64 // places from which text was asked for
}

func (p *placed) Line(addr uint64) (before, after string, known bool) {
	return p.text[:addr], p.text[addr:], true
}

func (p *placed) Between(from, to uint64) (text string, ahead, known bool) {
	if p.asked = append(p.asked, from); from > to {
		return "", true, true
	}
	return p.text[from:to], false, true
}

// TestSharing checks which tests of switches share labels with a jump, and that those that are farther away are not asked if
// the text ahead of the jump says that none does: a function may have many switches.
func TestSharing(t *testing.T) {
	t.Parallel()
	const first = "switch (a) { case 0: x(); } "
	for text, want := range map[string]struct{ shares, none bool }{
		"switch (b) { case 1: break; default: ":             {true, false},
		"switch (b) { case 1: x(); break; case 2: case 3: ": {false, true},
		"switch (b) { case 1: ":                             {false, true},
		"if (b) { case 1: break; default: ":                 {false, false},
		"switch (b) { case 1: break; } case 2: ":            {false, true},
		"switch (b) { case 1: break; /* ; */ x: y: ":        {true, false},
	} {
		src := placed{text: first + text}
		test := func(addr uint64) piece { return piece{insts: []inst{{addr: addr, test: true}}, ran: true} }
		fl := flow{pieces: []piece{test(0), test(uint64(len(first)))}}
		s := sharing{scan: &scan{fl: &fl, sources: &src}, r: &remnant{addr: uint64(len(src.text))}}
		if got := s.with(1); got != want.shares || s.none != want.none {
			t.Errorf("%q: shares %t, none %t", text, got, s.none)
		}
		before := len(src.asked)
		if got := s.with(0) && want.none; got || len(src.asked) > before == want.none {
			t.Errorf("%q: a switch before it: %t, asked from %d", text, got, src.asked)
		}
	}
}
