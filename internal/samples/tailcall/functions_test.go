package tailcall

import (
	"fmt"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// slots are functions of 16 bytes each.
type slot struct {
	name string
	code []byte
}

// to is a branch instruction of one opcode, at an offset of a slot, to another slot.
func to(opcode byte, offset, target int) []byte {
	rel := uint32(target<<4 - offset - 5)
	return []byte{opcode, byte(rel), byte(rel >> 8), byte(rel >> 16), byte(rel >> 24)}
}

const (
	call = 0xe8
	jump = 0xe9
)

// lea takes the address of a slot.
func lea(offset, target int) []byte {
	rel := uint32(target<<4 - offset - 7)
	return []byte{0x4c, 0x8d, 0x15, byte(rel), byte(rel >> 8), byte(rel >> 16), byte(rel >> 24)}
}

func set(t *testing.T, slots []slot) *machinecode.Set {
	t.Helper()
	data := make([]byte, 0, 16*len(slots))
	var symbols []objfile.TableSymbol
	for i, s := range slots {
		data = append(data, s.code...)
		for len(data) < 16*(i+1) {
			data = append(data, 0xc3)
		}
		symbols = append(symbols, objfile.TableSymbol{
			Symbol: objfile.Symbol{Name: s.name, Addr: text + uint64(i)<<4, Size: 16}, Func: true, Section: 1,
		})
	}
	code, err := machinecode.NewSet(&objfile.Program{
		Path: "prog", Segments: []objfile.Segment{{Addr: text, Size: uint64(len(data)), Offset: 0x1000, Exec: true}},
		Code: []objfile.CodeSection{{Name: ".text", Index: 1, Addr: text, Data: data}}, Symbols: symbols,
	})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestFunctions checks which functions b at slot 1 and c at slot 2 may call or jump to. Slot 0
// is a. The log has the functions whose names are one letter, by their slots.
func TestFunctions(t *testing.T) {
	t.Parallel()
	a, b, c := slot{"a", to(call, 0, 1)}, slot{"b", to(jump, 16, 2)}, slot{name: "c"}
	for name, test := range map[string]struct {
		slots   []slot
		pointed []uint64
		marks   int
		want    string // whether b jumps to c, is closed, and a may call c
	}{
		"a jump":                         {slots: []slot{a, b, c}, want: "true true false"},
		"a conditional one":              {slots: []slot{a, {"b", []byte{0x74, 14}}, c}, want: "true true false"},
		"no jump":                        {slots: []slot{a, {name: "b"}, c}, want: "false true false"},
		"a call":                         {slots: []slot{{"a", to(call, 0, 2)}, b, c}, want: "true true true"},
		"into the middle of a function":  {slots: []slot{a, {"b", []byte{0xeb, 18}}, c}, want: "false false false"},
		"to a computed address":          {slots: []slot{a, {"b", []byte{0xff, 0xe0}}, c}, want: "false false false"},
		"to a function without records":  {slots: []slot{a, {"b", append(to(jump, 16, 2), to(jump, 21, 3)...)}, c, {name: "other"}}, want: "true false false"},
		"by a function without records":  {slots: []slot{a, b, c, {"other", to(jump, 48, 2)}}, want: "true true true"},
		"called by one":                  {slots: []slot{a, b, c, {"other", to(call, 48, 2)}}, want: "true true true"},
		"its address is taken":           {slots: []slot{a, b, c, {"d", lea(48, 2)}}, want: "true true true"},
		"its address is in data":         {slots: []slot{a, b, c}, pointed: []uint64{text + 32}, want: "true true true"},
		"another's address is in data":   {slots: []slot{a, b, c}, pointed: []uint64{text + 33}, want: "true true false"},
		"it takes its own address":       {slots: []slot{a, b, {"c", lea(32, 2)}}, want: "true true true"},
		"to log it":                      {slots: []slot{a, b, {"c", lea(32, 2)}}, marks: 1, want: "true true false"},
		"and once more":                  {slots: []slot{a, b, {"c", append(lea(32, 2), lea(39, 2)...)}}, marks: 1, want: "true true true"},
		"by the rest of a function":      {slots: []slot{a, {"b", to(jump, 16, 3)}, c, {"b.cold", to(jump, 48, 2)}}, want: "true true false"},
		"of one of two with a name":      {slots: []slot{a, b, c, {"b.cold", to(jump, 48, 2)}, {name: "b"}}, want: "true true true"},
		"to the rest of one of two":      {slots: []slot{a, {"b", to(jump, 16, 3)}, c, {"b.cold", to(jump, 48, 2)}, {name: "b"}}, want: "false false true"},
		"a loop":                         {slots: []slot{a, {"b", append([]byte{0x90, 0xeb, 0xfd}, to(jump, 19, 2)...)}, c}, want: "true true false"},
		"back to the beginning":          {slots: []slot{a, {"b", append([]byte{0xeb, 0xfe}, to(jump, 18, 2)...)}, c}, want: "true true false"},
		"called by itself, and a jump":   {slots: []slot{a, b, {"c", to(call, 32, 2)}}, want: "true true false"},
		"both, by one that is not there": {slots: []slot{{name: "other"}, b, c}, want: "true true true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var recorded []Recorded
			for i, s := range test.slots {
				if len(s.name) == 1 {
					recorded = append(recorded, Recorded{ID: calllog.FuncID(i + 1), Entry: text + uint64(i)<<4, Marks: test.marks})
				}
			}
			f := NewFunctions(set(t, test.slots), recorded, [][]uint64{test.pointed})
			got := fmt.Sprint(f.Jumps(2, 3), f.Closed(2), f.MayCall(1, 3))
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestCallers checks that the functions that call an address determine which ones are recorded.
func TestCallers(t *testing.T) {
	t.Parallel()
	code := set(t, []slot{{"a", to(call, 0, 2)}, {name: "b"}, {"record", to(jump, 32, 0)}, {"d", to(call, 48, 1)}})
	if got := Callers(code, 0, text+32); len(got) != 1 || !got.Has(text) || got.Has(text+16) {
		t.Errorf("called by %v", got)
	}
	if !Everything.Has(1) {
		t.Error("not everything")
	}
}
