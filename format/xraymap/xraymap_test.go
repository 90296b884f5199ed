package xraymap

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A row is an entry as a test writes it, with absolute addresses.
type row struct {
	sled, function uint64
	kind           Kind
	always         bool
	version        uint8
}

// table lays rows out as a compiler and linker would.
func table(addr uint64, word int, big bool, rows ...row) Section {
	var order binary.AppendByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	s := Section{Addr: addr, Word: word, BigEndian: big}
	put := func(v uint64) {
		if word == 4 {
			s.Data = order.AppendUint32(s.Data, uint32(v))
		} else {
			s.Data = order.AppendUint64(s.Data, v)
		}
	}
	for _, r := range rows {
		at := addr + uint64(len(s.Data))
		if r.version >= 2 {
			r.sled, r.function = r.sled-at, r.function-at-uint64(word)
		}
		put(r.sled)
		put(r.function)
		always := byte(0)
		if r.always {
			always = 1
		}
		s.Data = append(s.Data, byte(r.kind), always, r.version)
		s.Data = append(s.Data, make([]byte, 2*word-3)...)
	}
	return s
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, word := range []int{4, 8} {
		for _, big := range []bool{false, true} {
			for version := range uint8(3) {
				rows := []row{
					{0x1004, 0x1000, Enter, false, version},
					{0x1010, 0x1000, Exit, false, version},
					{0x1040, 0x1040, LogArgsEnter, true, version},
					{0x1044, 0x1040, CustomEvent, true, version},
					{0x1048, 0x1040, TypedEvent, true, version},
					{0x104c, 0x1040, TailExit, true, version},
					// The first function again: its rows are not together.
					{0x1018, 0x1000, Exit, false, version},
				}
				m, err := Read(table(0x20fff, word, big, rows...))
				if err != nil {
					t.Fatal(err)
				}
				ids := []uint32{1, 1, 2, 2, 2, 2, 3}
				for i, r := range rows {
					want := Sled{ids[i], r.sled, r.function, r.kind, r.always, version, ""}
					if m.Sleds[i] != want {
						t.Errorf("%d bytes, big %v, version %d: sled %d is %+v, want %+v", word, big, version, i, m.Sleds[i], want)
					}
				}
				if len(m.Notes) > 0 {
					t.Error(m.Notes)
				}
			}
		}
	}
}

// TestReadHigh reads sleds that lie after the table, near the ends of memory.
func TestReadHigh(t *testing.T) {
	t.Parallel()
	for word, high := range map[int]uint64{4: 0xfffff000, 8: 0xffffffff80000000} {
		m, err := Read(table(0x1000, word, false, row{high, high - 4, Enter, false, 2}, row{high, high - 4, Enter, false, 0}))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.Sleds {
			if word == 4 && s.Version == 0 {
				high &= 1<<32 - 1
			}
			if s.Address != high || s.Function != high-4 || s.Func != 1 {
				t.Errorf("%d bytes: %+v, want %#x", word, s, high)
			}
		}
	}
}

// TestReadMany goes on counting from one table of an object to the next.
func TestReadMany(t *testing.T) {
	t.Parallel()
	m, err := Read(
		table(0x100, 8, false, row{0, 0, Enter, false, 2}, row{8, 0, Exit, false, 2}),
		table(0x200, 8, false),
		table(0x300, 8, false, row{0x40, 0x40, Enter, false, 2}),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []Function{{1, 0, "", false, 2}, {2, 0x40, "", false, 1}}
	if got := m.Functions(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestReadDamaged changes tables in ways that no compiler does. Each is one error
// with the place in the file.
func TestReadDamaged(t *testing.T) {
	t.Parallel()
	code := func(addr uint64) bool { return addr >= 0x10 && addr < 0x40 }
	good := func(word int) Section {
		s := table(0x1000, word, false, row{0x10, 0x10, Enter, false, 2}, row{0x3f, 0x20, Enter, true, 0})
		s.Offset, s.Code = 0x500, code
		return s
	}
	for _, word := range []int{4, 8} {
		if _, err := Read(good(word)); err != nil {
			t.Errorf("%d bytes: %v", word, err)
		}
	}
	for _, test := range []struct {
		change func(*Section)
		want   string
	}{
		{func(s *Section) { s.Data = append(s.Data, 1, 2, 3) }, "offset 0x540: the last 3 bytes are not a complete entry of 32 (truncated file?)"},
		{func(s *Section) { s.Data = s.Data[:63] }, "offset 0x520: the last 31 bytes are not a complete entry of 32 (truncated file?)"},
		{func(s *Section) { s.Data[32+16] = 6 }, "offset 0x530: a sled of kind 6, at most 5 is supported"},
		{func(s *Section) { s.Data[17] = 0xff }, "offset 0x511: 255 where it is 0 or 1 whether a function is always instrumented"},
		{func(s *Section) { s.Data[18] = 3 }, "offset 0x512: an entry of version 3, at most 2 is supported"},
		{func(s *Section) { s.Data[0]-- }, "offset 0x500: a sled at address 0xf, where there is no code"},
		{func(s *Section) { s.Data[15]-- }, "offset 0x508: a function at address 0xff00000000000010, where there is no code"},
		{func(s *Section) { s.Data[18] = 1 }, "offset 0x500: a sled at address 0xfffffffffffff010, where there is no code"},
		{func(s *Section) { clear(s.Data[32+8:][:8]) }, "offset 0x528: a function at address 0x0, where there is no code"},
		{func(s *Section) { s.Data = nil }, "no entries (no function was instrumented)"},
		{func(s *Section) { s.Word = 2 }, "addresses of 2 bytes, not 4 or 8"},
	} {
		s := good(8)
		test.change(&s)
		if _, err := Read(s); err == nil || err.Error() != "xray_instr_map: "+test.want {
			t.Errorf("%v, want xray_instr_map: %s", err, test.want)
		}
	}
}

// index writes an index of functions.
func index(addr uint64, absolute bool, starts, counts []uint64) Section {
	s := Section{Addr: addr, Word: 8}
	for i, start := range starts {
		second := counts[i]
		if absolute {
			second = start + 32*counts[i]
		} else {
			start -= addr + uint64(16*i)
		}
		s.Data = binary.LittleEndian.AppendUint64(s.Data, start)
		s.Data = binary.LittleEndian.AppendUint64(s.Data, second)
	}
	return s
}

func TestCheckIndex(t *testing.T) {
	t.Parallel()
	sleds := table(0x1000, 8, false, row{0x10, 0x10, Enter, false, 2}, row{0x14, 0x10, Exit, false, 2}, row{0x20, 0x20, Enter, false, 2})
	for _, test := range []struct {
		starts, counts []uint64
		want           string
	}{
		{[]uint64{0x1000, 0x1040}, []uint64{2, 1}, ""},
		{[]uint64{0x1000, 0x1020}, []uint64{2, 1}, "disagree from function 2"},
		{[]uint64{0x1000, 0x1040}, []uint64{1, 1}, "disagree from function 1"},
		{[]uint64{0x1000, 0x1020, 0x1040}, []uint64{1, 1, 1}, "has 3 functions where xray_instr_map has 2"},
	} {
		for _, absolute := range []bool{false, true} {
			m, err := Read(sleds)
			if err != nil {
				t.Fatal(err)
			}
			m.CheckIndex(sleds, index(0x5000, absolute, test.starts, test.counts))
			if got := strings.Join(m.Notes, "; "); (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("%v: %q, want %q", test, got, test.want)
			}
		}
	}
}

func TestFunctionsUnsorted(t *testing.T) {
	t.Parallel()
	m := &Map{Sleds: []Sled{{Func: 7, Function: 1}, {Func: 2, Function: 2, Always: true}, {Func: 7, Function: 3, Name: "seven"}}}
	want := []Function{{2, 2, "", true, 1}, {7, 1, "seven", false, 2}}
	if got := m.Functions(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestYAML(t *testing.T) {
	t.Parallel()
	m := &Map{Sleds: []Sled{
		{1, 0x24610, 0x24610, Enter, true, 2, "leaf(long)"},
		{1, 0x2461f, 0x24610, TypedEvent, true, 2, "leaf(long)"},
		{2, 0xffffffffffffffff, 0x24700, Exit, false, 0, ""},
		{3, 1, 2, TailExit, false, 1, "main"},
		{4, 1, 3, LogArgsEnter, false, 2, `operator""_x, it's`},
		{5, 1, 4, Exit, false, 2, "true"},
		{6, 1, 5, CustomEvent, false, 2, "Größe\\\"\n"},
		{7, 1, 6, Enter, false, 2, "inf"},
	}}
	var b bytes.Buffer
	if err := WriteYAML(&b, m); err != nil {
		t.Fatal(err)
	}
	want := `---
- { id: 1, address: 0x24610, function: 0x24610, kind: function-enter, always-instrument: true, function-name: 'leaf(long)', version: 2 }
- { id: 1, address: 0x2461F, function: 0x24610, kind: typed-event, always-instrument: true, function-name: 'leaf(long)', version: 2 }
- { id: 2, address: 0xFFFFFFFFFFFFFFFF, function: 0x24700, kind: function-exit, always-instrument: false, function-name: '' }
- { id: 3, address: 0x1, function: 0x2, kind: tail-exit, always-instrument: false, function-name: main, version: 1 }
- { id: 4, address: 0x1, function: 0x3, kind: log-args-enter, always-instrument: false, function-name: 'operator""_x, it''s', version: 2 }
- { id: 5, address: 0x1, function: 0x4, kind: function-exit, always-instrument: false, function-name: 'true', version: 2 }
- { id: 6, address: 0x1, function: 0x5, kind: custom-event, always-instrument: false, function-name: "Größe\\\"\x0A", version: 2 }
- { id: 7, address: 0x1, function: 0x6, kind: function-enter, always-instrument: false, function-name: inf, version: 2 }
...
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	got, err := ReadYAML(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Sleds, m.Sleds) {
		t.Errorf("read back\n%+v", got.Sleds)
	}
}

// TestReadYAML reads what people write.
func TestReadYAML(t *testing.T) {
	t.Parallel()
	const text = `%YAML 1.2
# made by hand
---
- { id: 1, address: 0x10, function: 16, kind: function-enter,
    always-instrument: true } # the first
-
  id: 2
  kind: 'function-exit'   # another
  address: 32
  function: 0x20
  function-name: f(int, char)
  colour: "red\u00e9\x21"

- id: 3
  address: 1
  function: 1
  kind: tail-exit
...
what follows is not read`
	m, err := ReadYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Sled{
		{1, 16, 16, Enter, true, 0, ""},
		{2, 32, 32, Exit, false, 0, "f(int, char)"},
		{3, 1, 1, TailExit, false, 0, ""},
	}
	if !reflect.DeepEqual(m.Sleds, want) {
		t.Errorf("%+v", m.Sleds)
	}
	crlf, err := ReadYAML([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
	if err != nil || !reflect.DeepEqual(crlf.Sleds, want) {
		t.Errorf("with carriage returns: %v, %+v", err, crlf)
	}
}

func TestReadYAMLErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "no rows",
		"---\n...\n":              "no rows",
		"hello":                   `line 1: not a row of an instrumentation map: "hello"`,
		"---\n\n- { id: 1 }":      "line 3: a sled without address",
		"- { id: 1, address: x }": `line 1: address: "x" is not a number`,
		"- { id: 1":               "line 1: a row has no end",
		"- { id: 1 address: 2 }":  "line 1: id: \"1 address: 2\" is not a number",
		"- { id }":                "line 1: a key without a colon",
		"- { 'id: 1 }":            "line 1: a text in quotes has no end",
		"- { id: \"\\q\" }":       "line 1: a text in quotes has a bad escape",
		"- id: 'x' y\n":           "line 1: more than a value",
		"- {id: 0, address: 1, function: 1, kind: function-enter}":                          "invalid function id 0: ids start at 1",
		"- {id: 1, address: 1, function: 1}":                                                "without kind",
		"- {id: 1, address: 1, function: 1, kind: x}":                                       `kind: "x" is not one of function-enter`,
		"- {id: 1, address: 1, function: 1, kind: kind-6}":                                  `kind: "kind-6" is not one of`,
		"- {id: 1, address: 1, function: 1, kind: function-exit, version: 3}":               "version 3: at most 2 is supported",
		"- {id: 1, address: 1, function: 1, kind: function-exit, always-instrument: maybe}": "neither true nor false",
		"- {id: 4294967296, address: 1, function: 1, kind: function-exit}":                  "not a number of 32 bits",
		"- {id: 1, address: 1, function: 1, kind: function-exit, version: 256}":             "not a number of 8 bits",
		"- {id: 1, address: 1, function: 1, kind: function-exit}\nfunction: 2\n":            "line 2: not a row",
		"- {id: 1, address: 1, function: 1, kind: function-exit}\n- {id: 1, function: 1}\n": "line 2: a sled without address",
	} {
		if _, err := ReadYAML([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(table(0x1000, 8, false, row{0x10, 0x10, Enter, true, 2}, row{0x20, 0x20, TypedEvent, false, 0}).Data, uint64(0x1000), false, false)
	f.Add(table(0x1000, 4, false, row{0x10, 0x10, Enter, true, 2}, row{0x14, 0x10, Exit, true, 2}, row{0x20, 0x20, 9, false, 2}).Data, uint64(0x1000), true, false)
	f.Add(table(0x1000, 8, false, row{0x10, 0x10, Enter, true, 3}).Data[:31], uint64(0x1000), false, false)
	f.Add(table(0x1000, 4, true, row{0x10, 0x10, Enter, true, 2}, row{0x20, 0x20, Exit, false, 1}).Data, uint64(0x1000), true, true)
	f.Add(index(0x1000, false, []uint64{0x1000, 0x1020}, []uint64{1, 1}).Data, uint64(0), false, false)
	f.Fuzz(func(t *testing.T, data []byte, addr uint64, narrow, big bool) {
		code := func(addr uint64) bool { return addr < 1<<20 }
		s := Section{Data: data, Addr: addr, Word: 8, BigEndian: big, Code: code}
		if narrow {
			s.Word = 4
		}
		m, err := Read(s, s)
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, SectionName+": ") || strings.Contains(text, "\n") {
				t.Fatalf("%q", text)
			}
			return
		}
		for _, sled := range m.Sleds {
			if !code(sled.Address) || !code(sled.Function) || sled.Kind > TypedEvent || sled.Version > 2 {
				t.Fatalf("a made-up sled: %+v", sled)
			}
		}
		m.CheckIndex(s, s)
		sleds := 0
		for i, fn := range m.Functions() {
			if fn.ID != uint32(i+1) {
				t.Fatalf("function %d has number %d", i, fn.ID)
			}
			sleds += fn.Sleds
		}
		if sleds != len(m.Sleds) {
			t.Fatalf("functions have %d sleds of %d", sleds, len(m.Sleds))
		}
		roundTrip(t, m)
	})
}

func FuzzReadYAML(f *testing.F) {
	f.Add([]byte("---\n- { id: 1, address: 0x24610, function: 0x24610, kind: function-enter, always-instrument: true, function-name: 'leaf''(long)', version: 2 }\n...\n"))
	f.Add([]byte("- id: 1\n  address: 1\n  function: 1 # c\n  kind: typed-event\n  function-name: \"a\\x20\\u1234\"\n-\n id: 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadYAML(data)
		if err != nil {
			return
		}
		m.Functions()
		for i := range m.Sleds {
			m.Sleds[i].Name = strings.ToValidUTF8(m.Sleds[i].Name, "")
		}
		roundTrip(t, m)
	})
}

func roundTrip(t *testing.T, m *Map) {
	var b bytes.Buffer
	if err := WriteYAML(&b, m); err != nil {
		t.Fatal(err)
	}
	again, err := ReadYAML(b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	if !slices.Equal(m.Sleds, again.Sleds) {
		t.Fatalf("read back:\n%+v\nwant\n%+v", again.Sleds, m.Sleds)
	}
}

func BenchmarkReadYAML(b *testing.B) {
	var m Map
	for i := range uint32(100_000) {
		m.Sleds = append(m.Sleds, Sled{i + 1, 0x24610, 0x24610, Enter, true, 2, "leaf(long)"}, Sled{i + 1, 0x24610, 0x24610, Exit, true, 2, "leaf(long)"})
	}
	var text bytes.Buffer
	if err := WriteYAML(&text, &m); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := ReadYAML(text.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
