package split

import "testing"

// TestRanges checks the operands of ranges: those that begin or end inside of the call before a label keep that, and the base
// of a list of locations in a cold part is its twin, as in the list itself.
func TestRanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, to, from, offset string }{
		{"\t.uleb128 .LVL2-.LVL1\n", ".LVL2", ".LVL1", "\t.uleb128\t.LVL2-.Lcairn_wVL1\n"},
		{"\t.uleb128 .LVL2-1-.LVL1\n", ".LVL2", ".LVL1", "\t.uleb128\t.LVL2-1-.Lcairn_wVL1\n"},
		{"\t.quad\t.LVL2\n", ".LVL2", "", ""},
		{"\t.quad\t.LVL2-1\n", ".LVL2", "", ""},
	} {
		s := &splitter{text: scanText([]byte(tt.line), &x86Dialect), replaced: map[int][]byte{}, twins: map[string]string{".LVL1": ".Lcairn_wVL1"}}
		if to, from, ok := s.rangeOf(0); to != tt.to || from != tt.from || !ok {
			t.Errorf("%q: %q from %q, %v; want %q from %q", tt.line, to, from, ok, tt.to, tt.from)
		}
		if tt.offset == "" {
			continue
		}
		if s.offset(0, tt.to, tt.from); string(s.replaced[0]) != tt.offset {
			t.Errorf("%q becomes %q, want %q", tt.line, s.replaced[0], tt.offset)
		}
	}
}
