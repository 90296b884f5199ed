package report

import (
	"strings"
	"testing"
)

// TestObjects checks that objects are one document, or as lines one each.
func TestObjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines bool
		list  []any
		want  string
	}{
		{false, nil, "[]\n"},
		{true, nil, ""},
		{false, []any{map[string]int{"a": 1}}, "[\n{\"a\":1}\n]\n"},
		{false, []any{"<", 2}, "[\n\"<\",\n2\n]\n"},
		{true, []any{"<", 2}, "\"<\"\n2\n"},
	} {
		var b strings.Builder
		o := NewObjects(&b, c.lines)
		for _, v := range c.list {
			if err := o.Encode(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Close(); err != nil || b.String() != c.want {
			t.Errorf("%v, lines %v: %q, %v, want %q", c.list, c.lines, b.String(), err, c.want)
		}
	}
	var b strings.Builder
	if err := NewObjects(&b, false).Encode(func() {}); err == nil || b.Len() > 0 {
		t.Errorf("what is no JSON: %v, %q", err, b.String())
	}
}
