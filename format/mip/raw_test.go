package mip

import (
	"encoding/binary"
	"errors"
	hashfnv "hash/fnv"
	"reflect"
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
		if got := checksum(data); got != h.Sum32() {
			t.Fatalf("checksum(%x) = %#x, want %#x", data, got, h.Sum32())
		}
	})
}

func drawRaw(t *rapid.T) Raw {
	r := Raw{
		BuildID:    prof.BuildID(rapid.SliceOfN(rapid.Byte(), 1, wire.MaxBuildID).Draw(t, "id")),
		PID:        rapid.Uint32().Draw(t, "pid"),
		Continuous: rapid.Bool().Draw(t, "continuous"),
		Data:       rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 40).Draw(t, "data"),
	}
	r.Size = uint64(len(r.Data)) + rapid.Uint64Range(0, 100).Draw(t, "tail")
	return r
}

// sameRaw compares with the tail of zeros written out.
func sameRaw(a, b Raw) bool {
	pad := func(r Raw) Raw {
		r.Data = append(append([]byte{}, r.Data...), make([]byte, r.Size-uint64(len(r.Data)))...)
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
		{"header cut", good[:40], nil, "at offset 0x28: cut short", nil},
		{"newer", good, func(b []byte) []byte { b[8] = 2; return b }, "version 2 with flags 0x0: it needs a newer cairn", ErrNewer},
		{"flags", good, func(b []byte) []byte { b[10] = 2; return b }, "flags 0x2: it needs a newer cairn", ErrNewer},
		{"version 0", good, func(b []byte) []byte { b[8] = 0; return b }, "at offset 0x8: there is no version 0", nil},
		{"data offset", good, func(b []byte) []byte { b[12] = 63; return b }, "at offset 0xc: data at 63", nil},
		{"size", good, func(b []byte) []byte { le.PutUint64(b[16:], 1<<40); return b }, "at offset 0x10: raw section of", nil},
		{"stored", good, func(b []byte) []byte { b[24] = 10; return b }, "at offset 0x18: 10 bytes stored", nil},
		{"checksum", good, func(b []byte) []byte { b[64] = 0; return b }, "at offset 0x20: checksum", nil},
		{"id length", good, func(b []byte) []byte { b[40] = 21; return b }, "at offset 0x28: build id of 21 bytes", nil},
		{"cut", good[:66], nil, "at offset 0x42: cut short: its header says 67 bytes", nil},
		{"long", good, func(b []byte) []byte { return append(b, 0) }, "at offset 0x43: 1 bytes too many", nil},
		{"live cut", live[:4098], nil, "at offset 0x1002: cut short: its header says 4099 bytes", nil},
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

func BenchmarkChecksum(b *testing.B) {
	data := make([]byte, 10_000)
	for i := range data {
		data[i] = byte(i * i >> 3 & 1)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		checksum(data)
	}
}
