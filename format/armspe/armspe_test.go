package armspe_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/armspe"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		at   uint64
		want armspe.Packet
		ok   bool
	}{
		{"", 0, armspe.Packet{}, false},
		{"\x00\x01", 0, armspe.Packet{Kind: armspe.Pad, Size: 1}, true},
		{"\x01", 0, armspe.Packet{Kind: armspe.End, Size: 1}, true},
		{"\x71\x01\x02\x03\x04\x05\x06\x07\x08", 0, armspe.Packet{Kind: armspe.Timestamp, Payload: 0x0807060504030201, Size: 9}, true},
		{"\x71\x01\x02\x03\x04\x05\x06\x07", 0, armspe.Packet{}, false},
		{"\xb4\x01\x02\x03\x04\x05\x06\x07\x80", 0, armspe.Packet{Kind: armspe.Address, Index: armspe.Previous, Payload: 0x8007060504030201, Size: 9}, true},
		{"\x52\xc2\x00", 0, armspe.Packet{Kind: armspe.Events, Payload: armspe.NotTaken | armspe.Mispredicted | 2, Size: 3}, true},
		{"\x4a\x01", 0, armspe.Packet{Kind: armspe.Operation, Index: armspe.Branch, Payload: 1, Size: 2}, true},
		{"\x65\x46\x00\x00\x00", 0, armspe.Packet{Kind: armspe.Context, Index: 1, Payload: 0x46, Size: 5}, true},
		{"\x43\x08", 0, armspe.Packet{Kind: armspe.Source, Payload: 8, Size: 2}, true},
		// A header of two bytes has two more bits of the index in the first.
		{"\x21\x99\x02\x00", 0, armspe.Packet{Kind: armspe.Counter, Index: 9, Payload: 2, Size: 4}, true},
		{"\x21", 0, armspe.Packet{}, false},
		{"\x20\x71", 0, armspe.Packet{Kind: armspe.Bad, Size: 1}, true},
		{"\xff", 0, armspe.Packet{Kind: armspe.Bad, Size: 1}, true},
		// What aligns goes to the next multiple of a power of two of the buffer.
		{"\x23\x00", 0x1005, armspe.Packet{Kind: armspe.Pad, Size: 11}, true},
		{"\x23\x00", 0x1000, armspe.Packet{Kind: armspe.Pad, Size: 16}, true},
	} {
		if got, ok := armspe.Parse([]byte(tc.in), tc.at); got != tc.want || ok != tc.ok {
			t.Errorf("%q: %+v %t, want %+v %t", tc.in, got, ok, tc.want, tc.ok)
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	const user, kernel = "\x00\x80", "\xff\xa0" // the end of an address
	for _, tc := range []struct {
		name, in string
		want     armspe.Record
		ok       bool
	}{
		{
			"branch", "\xb0\x01\x02\x03\x04\x05\x06" + user + "\x64\x09\x00\x00\x00\x42\x82\x4a\x00\xb1\x11\x00\x00\x00\x00\x00" + user + "\xb4\x21\x00\x00\x00\x00\x00" + user + "\x71\x05\x00\x00\x00\x00\x00\x00\x00",
			armspe.Record{IsBranch: true, Mispredicted: true, Address: 0x060504030201, Target: 0x11, Previous: 0x21, Context: 9, HasContext: true, Time: 5},
			true,
		},
		{"kernel", "\xb0\x01\x00\x00\x00\x00\x00" + kernel + "\x01", armspe.Record{Address: 0xffff000000000001}, true},
		{"damaged", "\xb0\x01\x00\x00\x00\x00\x00\x00\x80\xff\x01", armspe.Record{}, false},
		{"after a damaged one", "\xff\x01\x4a\x00\x42\x40\x01", armspe.Record{IsBranch: true, NotTaken: true}, true},
	} {
		var d armspe.Decoder
		var last armspe.Record
		ok := false
		for b := []byte(tc.in); len(b) > 0; {
			p, whole := armspe.Parse(b, 0)
			if !whole {
				t.Fatalf("%s: %q is no packet", tc.name, b)
			}
			if r, ended := d.Add(p); ended {
				last, ok = r, true
			}
			b = b[p.Size:]
		}
		if d.Begun() || d.Damaged() {
			t.Errorf("%s: the last record has not ended", tc.name)
		}
		if tc.ok != ok || ok && last != tc.want {
			t.Errorf("%s: %+v %t, want %+v", tc.name, last, ok, tc.want)
		}
	}
}

// TestRecorded reads records as processors wrote them. Their packets are in different orders: the first two were published with
// perf's decoder (Neoverse N1), the third with the tests of a converter for pprof, the last in a report of WindowsPerf.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		want     armspe.Record
	}{
		{
			"mispredicted", "b0 0082f329eeb7ffc0 990200 980300 528200 4a01 b1 2482f329eeb7ffc0 000000000000 71 32a0d6783f070000",
			armspe.Record{IsBranch: true, Mispredicted: true, Address: 0xffffb7ee29f38200, Target: 0xffffb7ee29f38224, Time: 7969191665714},
		},
		{
			"mispredicted, not taken", "b0 0ce1202aeeb7ffc0 990200 980300 52c200 4a01 b1 10e1202aeeb7ffc0 000000000000 71 bca4d6783f070000",
			armspe.Record{IsBranch: true, Mispredicted: true, NotTaken: true, Address: 0xffffb7ee2a20e10c, Target: 0xffffb7ee2a20e110, Time: 7969191666876},
		},
		{
			"with a context", "b0 e0b0efed66baffc0 0000000000 65 0e000000 4a01 524200 991000 981100 b1 e4b0efed66baffc0 00000000000000000000000000000000 71 8d652f6a0a000000",
			armspe.Record{IsBranch: true, NotTaken: true, Address: 0xffffba66edefb0e0, Target: 0xffffba66edefb0e4, Context: 14, HasContext: true, Time: 44731164045},
		},
		{
			"the operation first", "4a01 b1 0000000000000080 4242 b0 2041c0adffff0080 980000 71 803ef746e9010000",
			armspe.Record{IsBranch: true, NotTaken: true, Address: 0xffffadc04120, Time: 2101429616256},
		},
		{
			"a load", "71aff90481000c0000 b0 00b6a9e4aaaa0080 4900 521600 990400 980800 b2 43da5de6aaaa0000 9a0100 b3 435a952c03080080 4300 01",
			armspe.Record{Address: 0xaaaae4a9b600},
		},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(tc.in, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		var d armspe.Decoder
		var last armspe.Record
		for len(b) > 0 {
			p, whole := armspe.Parse(b, 0)
			if !whole || p.Kind == armspe.Bad {
				t.Fatalf("%s: %x is no packet", tc.name, b)
			}
			if r, ended := d.Add(p); ended {
				last = r
			}
			b = b[p.Size:]
		}
		if last != tc.want || d.Begun() || d.Damaged() {
			t.Errorf("%s: %+v, want %+v", tc.name, last, tc.want)
		}
	}
}

// FuzzParse checks that every packet has a size within the input, unless it aligns.
func FuzzParse(f *testing.F) {
	f.Add([]byte("\xb0\x01\x02\x03\x04\x05\x06\x07\x80\x23\x00\x21\x99\x02\x00\x71\x01\x02\x03\x04\x05\x06\x07\x08"), uint64(3))
	f.Fuzz(func(t *testing.T, b []byte, at uint64) {
		var d armspe.Decoder
		for len(b) > 0 {
			p, ok := armspe.Parse(b, at)
			if !ok {
				if len(b) >= armspe.MaxSize {
					t.Fatalf("%d bytes are too few", len(b))
				}
				return
			}
			if p.Size < 1 || p.Size > len(b) && p.Kind != armspe.Pad || p.Size > 1<<16 {
				t.Fatalf("%+v of %d bytes", p, len(b))
			}
			if r, ended := d.Add(p); ended && (r.Address>>56 != 0 && r.Address>>56 != 0xff) {
				t.Fatalf("address %#x", r.Address)
			}
			b, at = b[min(p.Size, len(b)):], at+uint64(p.Size)
		}
	})
}
