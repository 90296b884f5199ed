package mip

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// exampleRaw is the first run of the example.
func exampleRaw(t testing.TB) []byte {
	image := make([]byte, 32)
	copy(image, "\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00\x80\x01")
	copy(image[16:], "\xd4\xfe\xff\xff\x02\x00\x00\x80\x10\xd0\xff\xff\x01")
	raw, err := AppendRaw(nil, Raw{BuildID: example().BuildID, PID: 7, Run: 0x1122334455667788, Single: true, Size: 32, Data: image, Scenario: "boot"})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// exampleOrder is a run of the example in mode order.
func exampleOrder(t testing.TB) []byte {
	raw, err := AppendRaw(nil, Raw{
		BuildID: example().BuildID, PID: 7, Run: 0x1122334455667789, Size: 8, Data: []byte{1, 1, 0, 0, 2}, Slots: 2, Next: 2, Order: []uint32{1, 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// exampleUnit is the compilation of lib.c.
func exampleUnit() *prof.Unit {
	a := example().Absent[0]
	a.Why, a.Note = 0, ""
	return &prof.Unit{File: a.File, Funcs: []prof.Absent{a}}
}

// TestDocExample compares the dumps in doc.go with what the writers write.
func TestDocExample(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"section": section(example()),
		"unit":    encodeUnit(t, exampleUnit()),
		"raw":     exampleRaw(t),
		"order":   exampleOrder(t),
		"map":     encodeMap(t, example()),
		"profile": encodeProfile(t, exampleProfile()),
	} {
		var dump strings.Builder
		for line := range strings.Lines(hex.Dump(data)) {
			dump.WriteString("//\t" + line)
		}
		if !strings.Contains(string(doc), dump.String()) {
			t.Errorf("the dump of the %s in doc.go should be:\n%s", name, dump.String())
		}
	}
}
