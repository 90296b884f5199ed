package mip

import (
	"bytes"
	"encoding/binary"
	"errors"
	hashfnv "hash/fnv"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"

	"pgregory.net/rapid"
)

// TestChecksum compares the shortcut with hash/fnv on data that mixes flags
// with other bytes.
func TestChecksum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.OneOf(rapid.ByteRange(0, 1), rapid.ByteRange(0, 1), rapid.Byte())
		data := rapid.OneOf(rapid.SliceOf(b), rapid.SliceOf(rapid.ByteRange(0, 1))).Draw(t, "data")
		h := hashfnv.New32a()
		h.Write(data)
		if got := addSum(fnvOffset, data); got != h.Sum32() {
			t.Fatalf("checksum(%x) = %#x, want %#x", data, got, h.Sum32())
		}
	})
}

// withCopies returns the raw file of a process with three processors, of two records in mode count.
func withCopies(t testing.TB) []byte {
	t.Helper()
	file, err := AppendRaw(nil, Raw{BuildID: "\x12\x34", Size: 16, Continuous: true, Own: true, Data: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	le.PutUint16(file[wire.RawCopiesOffset:], 3)
	file = append(file, make([]byte, 4*wire.PageSize-16)...)
	le.PutUint32(file[wire.PageSize+wire.OrderOffset:], 2)
	le.PutUint32(file[wire.PageSize+8+wire.OrderOffset:], 1)
	for k, calls := range []uint32{5, 0, 1 << 31} {
		own := file[(2+k)*wire.PageSize:]
		le.PutUint32(own, -calls)
		le.PutUint32(own[wire.OrderOffset:], 1)
		le.PutUint32(own[8:], -uint32(k))
	}
	return file
}

// TestCopies adds up the counts of processors.
func TestCopies(t *testing.T) {
	t.Parallel()
	const second = 8
	for _, tc := range []struct {
		name  string
		edit  func(shared, last []byte)
		calls [2]uint32
		order [2]uint32
		own   bool
	}{
		{"three processors", func(_, _ []byte) {}, [2]uint32{1<<31 + 5, 3}, [2]uint32{2, 1}, true},
		{"a processor without a copy", func(shared, _ []byte) { le32(shared[second:], -7) }, [2]uint32{1<<31 + 5, 10}, [2]uint32{2, 1}, false},
		{"more than a record holds", func(_, last []byte) { le32(last, 1) }, [2]uint32{4, 3}, [2]uint32{2 | wire.OrderInexact, 1}, true},
		{"a count that began again", func(_, last []byte) { le32(last[second+wire.OrderOffset:], 2) }, [2]uint32{1<<31 + 5, 3}, [2]uint32{2, 1 | wire.OrderInexact}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := withCopies(t)
			tc.edit(file[wire.PageSize:], file[4*wire.PageSize:])
			raw, err := ParseRaw(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := range tc.calls {
				record := raw.Data[i*wire.CountSize:]
				calls, order := -binary.LittleEndian.Uint32(record), binary.LittleEndian.Uint32(record[wire.OrderOffset:])
				if calls != tc.calls[i] || order != tc.order[i] {
					t.Errorf("record %d: %d calls, order %#x; want %d, %#x", i, calls, order, tc.calls[i], tc.order[i])
				}
			}
			if raw.Own != tc.own || raw.Size != 16 || len(raw.Data) != 16 {
				t.Errorf("own %v, %d of %d bytes; want %v, 16", raw.Own, len(raw.Data), raw.Size, tc.own)
			}
		})
	}
}

func le32(b []byte, v int32) { binary.LittleEndian.PutUint32(b, uint32(v)) }

func drawRaw(t *rapid.T) Raw {
	r := Raw{
		BuildID:    prof.BuildID(rapid.SliceOfN(rapid.Byte(), 1, wire.MaxBuildID).Draw(t, "id")),
		PID:        rapid.Uint32().Draw(t, "pid"),
		Run:        rapid.Uint64().Draw(t, "run"),
		Continuous: rapid.Bool().Draw(t, "continuous"),
		Data:       rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 40).Draw(t, "data"),
	}
	r.Sealed = r.Continuous && rapid.Bool().Draw(t, "sealed")
	r.Single = r.Continuous == r.Sealed && rapid.Bool().Draw(t, "single")
	if r.Own = r.Continuous && rapid.Bool().Draw(t, "own"); r.Own {
		r.Size = uint64(len(r.Data))
		return r
	}
	if r.Inside = r.Continuous && rapid.Bool().Draw(t, "inside"); r.Inside {
		r.Data = append(make([]byte, wire.RawHeadRoom), r.Data...)
	}
	r.Size = uint64(len(r.Data)) + rapid.Uint64Range(0, 100).Draw(t, "tail")
	r.Scenario = rapid.StringN(0, -1, wire.MaxScenario).Draw(t, "scenario")
	if r.Size < wire.SlotSize || rapid.Bool().Draw(t, "without slots") {
		return r
	}
	r.Slots = rapid.Uint32Range(1, 20).Draw(t, "slots")
	r.Next = rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Uint32()).Draw(t, "next")
	r.Order = rapid.SliceOfN(rapid.Uint32Range(0, uint32(r.Size)-1), 0, int(min(r.Next, r.Slots))).Draw(t, "order")
	if r.Continuous {
		first := uint64(0)
		if r.Inside {
			first = wire.RawHeadRoom
		}
		if r.Size < first+wire.SlotSize {
			r.Size = first + wire.SlotSize
		}
		r.NextAt = rapid.Uint64Range(first, r.Size-wire.SlotSize).Draw(t, "next at")
	}
	return r
}

// sameRaw compares with the tail of zeros written out.
func sameRaw(a, b Raw) bool {
	pad := func(r Raw) Raw {
		r.Data = append(append([]byte{}, r.Data...), make([]byte, r.Size-uint64(len(r.Data)))...)
		if r.Continuous && r.Slots > 0 {
			binary.LittleEndian.PutUint32(r.Data[r.NextAt:], r.Next)
		}
		r.Order = append([]uint32{}, r.Order...)
		return r
	}
	return reflect.DeepEqual(pad(a), pad(b))
}

func TestRawRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRaw(t)
		file, err := AppendRaw([]byte("head"), r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRaw(file[4:])
		if err != nil || !sameRaw(got, r) {
			t.Fatalf("ParseRaw = %+v, %v, want %+v", got, err, r)
		}
		for n := range file[4:] { // every cut is noticed
			if _, err := ParseRaw(file[4 : 4+n]); err == nil {
				t.Fatalf("a file cut at %d of %d bytes passes", n, len(file)-4)
			}
		}
	})
}

func TestParseRawErrors(t *testing.T) {
	t.Parallel()
	good, err := AppendRaw(nil, Raw{BuildID: "\x12\x34", Size: 9, Data: []byte{1, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	live, err := AppendRaw(nil, Raw{BuildID: "\x12\x34", Size: 3, Data: []byte{1, 0, 1}, Continuous: true})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := AppendRaw(nil, Raw{BuildID: "\x12\x34", Size: 3, Data: []byte{1, 0, 1}, Continuous: true, Sealed: true, Single: true})
	if err != nil {
		t.Fatal(err)
	}
	order := Raw{BuildID: "\x12\x34", Size: 9, Data: []byte{1, 0, 1}, Scenario: "boot", Slots: 4, Next: 2, Order: []uint32{2, 0}}
	ordered, err := AppendRaw(nil, order)
	if err != nil {
		t.Fatal(err)
	}
	order.Continuous, order.NextAt = true, 4
	liveOrder, err := AppendRaw(nil, order)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := AppendRaw(nil, Raw{BuildID: "\x12\x34", Size: wire.RawHeadRoom, Data: make([]byte, wire.RawHeadRoom), Continuous: true, Inside: true})
	if err != nil {
		t.Fatal(err)
	}
	copies := withCopies(t)
	le := binary.LittleEndian
	for _, tc := range []struct {
		name string
		file []byte
		edit func(b []byte) []byte
		want string
		is   error
	}{
		{"empty", nil, nil, "not a raw file: bad magic", ErrMagic},
		{"other", []byte("\x7fELF...."), nil, "not a raw file: bad magic", ErrMagic},
		{"header cut", good[:40], nil, "at offset 0x28: truncated", nil},
		{"newer", good, func(b []byte) []byte { b[8] = 4; return b }, "version 4 with flags 0x0: it requires a newer version of cairn", ErrNewer},
		{"flags", good, func(b []byte) []byte { b[10] = 32; return b }, "flags 0x20: it requires a newer version of cairn", ErrNewer},
		{"older", good, func(b []byte) []byte { b[8] = 2; return b }, "at offset 0x8: version 2, which no release wrote", nil},
		{"data offset", good, func(b []byte) []byte { b[12] = 87; return b }, "at offset 0xc: data at 87", nil},
		{"size", good, func(b []byte) []byte { le.PutUint64(b[16:], 1<<40); return b }, "at offset 0x10: raw section of", nil},
		{"stored", good, func(b []byte) []byte { b[24] = 10; return b }, "at offset 0x18: 10 bytes stored", nil},
		{"flag", good, func(b []byte) []byte { b[10] = wire.RawSingle; return b }, "at offset 0x20: checksum", nil},
		{"live flag", good, func(b []byte) []byte { b[10] = wire.RawContinuous; return b }, "at offset 0xa: flags 0x1 of live memory", nil},
		{"sealed flag", good, func(b []byte) []byte { b[10] = wire.RawSealed; return b }, "at offset 0xa: flags 0x4", nil},
		{"unsealed", sealed, func(b []byte) []byte { b[10] = wire.RawContinuous; return b }, "at offset 0xa: flags 0x1 of live memory", nil},
		{"live threads", live, func(b []byte) []byte { b[10] |= wire.RawSingle; return b }, "at offset 0xa: flags 0x3 of live memory", nil},
		{"run", good, func(b []byte) []byte { b[80] ^= 1; return b }, "at offset 0x20: checksum", nil},
		{"checksum", good, func(b []byte) []byte { b[88] = 0; return b }, "at offset 0x20: checksum", nil},
		{"id length", good, func(b []byte) []byte { b[40] = 21; return b }, "at offset 0x28: build id of 21 bytes", nil},
		{"cut", good[:90], nil, "at offset 0x5a: truncated: the header says 91 bytes", nil},
		{"long", good, func(b []byte) []byte { return append(b, 0) }, "at offset 0x5b: 1 bytes too many", nil},
		{"live cut", live[:4098], nil, "at offset 0x1002: truncated: the header says 4099 bytes", nil},
		{"scenario", ordered, func(b []byte) []byte { b[41] = 201; return b }, "at offset 0x29: scenario of 201 bytes, at most 200", nil},
		{"scenario and data", ordered, func(b []byte) []byte { b[41] = 5; return b }, "at offset 0xc: data at 92, 93 to", nil},
		{"scenario checksum", ordered, func(b []byte) []byte { b[88] = 'f'; return b }, "at offset 0x20: checksum", nil},
		{"slot checksum", ordered, func(b []byte) []byte { b[len(b)-1] = 1; return b }, "at offset 0x20: checksum", nil},
		{"slots cut", ordered[:102], nil, "at offset 0x66: truncated: the header says 103 bytes", nil},
		{"many slots", ordered, func(b []byte) []byte { le.PutUint32(b[64:], 1<<24+1); return b }, "at offset 0x40: 16777217 slots, at most", nil},
		{"no slots", ordered, func(b []byte) []byte { b[64] = 0; return b }, "at offset 0x44: 2 first executions where", nil},
		{"a count elsewhere", ordered, func(b []byte) []byte { b[72] = 1; return b }, "at offset 0x48: first executions counted at 1, where", nil},
		{"slot", liveOrder, func(b []byte) []byte { b[4096+8+4] = 10; return b }, "at offset 0x100c: a record at 9 of a raw section of 9", nil},
		{"live count", liveOrder, func(b []byte) []byte { b[72] = 6; return b }, "at offset 0x48: first executions counted at 6 of", nil},
		{"live slots cut", liveOrder[:4096+8+15], nil, "at offset 0x1017: truncated: the header says 4120 bytes", nil},
		{"a child counts in the same file", live, func(b []byte) []byte { b[42] = 1; return b }, "", nil},
		{"copies of a dead file", good, func(b []byte) []byte { b[10] = wire.RawOwn; return b }, "at offset 0x2a: 0 copies with flags 0x8", nil},
		{"many copies", copies, func(b []byte) []byte { b[43] = 0xff; return b }, "at offset 0x2a: 65283 copies of 4096 bytes, at most", nil},
		{"copies cut", copies[:len(copies)-4096], nil, "truncated: the header says", nil},
		{"a header in a dead file", good, func(b []byte) []byte { b[10] = wire.RawInside; return b }, "at offset 0xc: data at 88 with flags 0x10", nil},
		{"a header inside, and before", inside, func(b []byte) []byte { b[12] = 88; return b }, "at offset 0xc: data at 88 with flags 0x11", nil},
		{"less than a header inside", inside, func(b []byte) []byte { b[24]--; return b }, "at offset 0xc: data at 0 with flags 0x11, 287 bytes stored", nil},
		{"a count in the header", inside, func(b []byte) []byte { b[64], b[72] = 1, 100; return b }, "at offset 0x48: first executions counted at 100, in the header", nil},
		{"copies with a header inside", inside, func(b []byte) []byte { b[10] |= wire.RawOwn; return b }, "at offset 0xc: data at 0 with flags 0x19", nil},
		{"live page", live, func(b []byte) []byte { return append(b, 0) }, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := append([]byte{}, tc.file...)
			if tc.edit != nil {
				file = tc.edit(file)
			}
			_, err := ParseRaw(file)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("ParseRaw: %v, want %q", err, tc.want)
			}
		})
	}
}

// TestRawOrder has a slot that was reserved but not filled, and a buffer that wrapped round.
func TestRawOrder(t *testing.T) {
	t.Parallel()
	r := Raw{BuildID: "x", Size: 9, Slots: 3, Next: 5, Order: []uint32{6, 7, 8}}
	file, err := AppendRaw(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	// Numbers 3 and 4 stand where 0 and 1 stood.
	if got := file[wire.RawHeaderSize:]; !bytes.Equal(got, []byte{8, 0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 0}) {
		t.Errorf("slots % x", got)
	}
	if got, err := ParseRaw(file); err != nil || !slices.Equal(got.Order, r.Order) || !got.Cut() {
		t.Errorf("ParseRaw = %+v, %v", got, err)
	}
	r.Continuous = true
	if file, err = AppendRaw(nil, r); err != nil {
		t.Fatal(err)
	}
	copy(file[len(file)-8:], "\x00\x00\x00\x00")
	if got, err := ParseRaw(file); err != nil || !slices.Equal(got.Order, []uint32{6, 7}) {
		t.Errorf("ParseRaw with an empty slot = %+v, %v", got, err)
	}
	r.Next, r.Order = 2, r.Order[:2]
	if file, err = AppendRaw(nil, r); err != nil {
		t.Fatal(err)
	}
	if got, err := ParseRaw(file); err != nil || !slices.Equal(got.Order, r.Order) || got.Cut() {
		t.Errorf("ParseRaw = %+v, %v", got, err)
	}
}

// TestScenario has a name that the runtime truncated in the middle of a character.
func TestScenario(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("x", wire.MaxScenario)
	for name, want := range map[string]string{
		x: x, x[:198] + "\xc3\xa4": x[:198] + "\xc3\xa4", x[:199] + "\xc3": x[:199],
		x[:197] + "\xf0\x9f\xaa": x[:197], x[:199] + "\xff": x[:199] + "\xff", "a\xc3": "a\xc3",
	} {
		file, err := AppendRaw(nil, Raw{BuildID: "x", Scenario: name})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseRaw(file); err != nil || got.Scenario != want {
			t.Errorf("scenario %q is read as %q, %v", name, got.Scenario, err)
		}
	}
}

func BenchmarkChecksum(b *testing.B) {
	data := make([]byte, 10_000)
	for i := range data {
		data[i] = byte(i * i >> 3 & 1)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		addSum(fnvOffset, data)
	}
}
