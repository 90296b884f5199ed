package xray

import (
	"fmt"
	"testing"
)

// The quick reader of a record takes only what the other reads in the same way.
func FuzzYAMLRecord(f *testing.F) {
	for _, text := range []string{
		"{ type: 0, func-id: 3, function: 'f(long)', args: [ 1000, 2 ], cpu: 4, thread: 11532, process: 11531, kind: function-enter-arg, tsc: 1795176873250910632, data: '' }",
		"{type: 65535, kind: typed-event, tsc: 7, data: \"a b\"}",
		"{ func-id: 4294967295, kind: function-tail-exit, tsc: 18446744073709551615, data: a.b_c }",
		"{ func-id: 1, kind: function-exit, tsc: 0, function: null , data: 1}",
		"{ func-id: 010, kind: custom-event, tsc: 1, data: no, args: [] }",
		"{ func-id: 1, func-id: 1, kind: custom-event, tsc: 1_000 }",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var quick, other yamlRecord
		if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' || !quick.line([]byte(text)) {
			return
		}
		if trouble := other.general([]byte("- " + text)); trouble != "" || !sameRecord(&quick, &other) {
			t.Errorf("%q is %+v, and by the YAML library %+v %s", text, quick, other, trouble)
		}
	})
}

func sameRecord(a, b *yamlRecord) bool {
	return a.typ == b.typ && a.fn == b.fn && a.cpu == b.cpu && a.tid == b.tid && a.pid == b.pid && a.kind == b.kind &&
		a.time == b.time && fmt.Sprint(a.args) == fmt.Sprint(b.args) && string(a.data) == string(b.data)
}
