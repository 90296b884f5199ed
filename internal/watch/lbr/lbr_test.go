package lbr

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

func TestText(t *testing.T) {
	t.Parallel()
	maps := "00400000-00401000 r--p 00000000 fe:00 17   /bin/app\n" +
		"00401000-00403000 r-xp 00001000 fe:00 17                  /bin/my app\n" +
		"7ff000-7ff800 r-xp 00000000 00:00 0 [vdso]\nrubbish\n"
	want := "PERF_RECORD_MMAP2 7/7: [0x401000(0x2000) @ 0x1000 fe:00 17 0]: r-xp /bin/my app\n"
	if got := string(AppendMaps(nil, 7, []byte(maps))); got != want {
		t.Errorf("%q", got)
	}
	s := Sample{
		IP: 0x401010, Stack: []uint64{0x401010, 0x7fff00401020}, Cut: 2,
		Branches: []sample.Branch{{From: 0x401000, To: 0x401005}, {From: 0x401006, To: 0x40100a}},
		Calls:    []OpenCall{{FromOutside, 0, 0x401000}, {Call, 0x401005, 0x401050}, {TailCall, 0x401060, 0x401080}},
	}
	want = "\t          401010\n\t    7fff00401020\n 0x401006/0x40100a/P/-/-/0  0x401000/0x401005/P/-/-/0 \n\n"
	if got := string(s.Append(nil)); got != want {
		t.Errorf("%q", got)
	}
	want = "O0>401000 C401005>401050 T401060>401080 ...2 L401010\n"
	if got := string(s.AppendTruth(nil)); got != want {
		t.Errorf("%q", got)
	}
}

// rawSample is a record as the runtime writes it.
func rawSample() []byte {
	var b []byte
	put := func(v ...uint64) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
	}
	const body = 8 + 8 + 16 + 2*8 + 16 + 24
	b = binary.LittleEndian.AppendUint32(b, 8+body)
	b = binary.LittleEndian.AppendUint32(b, recordSample)
	put(7|8<<32, 0x401010, 2|1<<32, 1, 0x401010, 0x401020, 0x401000, 0x401005, 1, 0x401005, 0x401050)
	return b
}

func TestRecords(t *testing.T) {
	t.Parallel()
	whole := append(rawSample(), rawSample()...)
	for n := range len(whole) + 1 {
		samples, failed := 0, false
		for rec, err := range Records(bytes.NewReader(whole[:n])) {
			switch {
			case err != nil:
				failed = true
			case rec.Sample == nil || rec.Sample.TID != 8 || len(rec.Sample.Stack) != 2 || len(rec.Sample.Branches) != 1 || len(rec.Sample.Calls) != 1:
				t.Fatalf("%+v", rec)
			default:
				samples++
			}
		}
		if size := len(whole) / 2; samples != n/size || failed != (n%size != 0) {
			t.Errorf("of %d bytes: %d samples, failed %v", n, samples, failed)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(rawSample())
	f.Add([]byte{16, 0, 0, 0, recordLost, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for rec, err := range Records(bytes.NewReader(data)) {
			if n++; n > len(data) {
				t.Fatal("more records than bytes")
			}
			if err == nil && rec.Sample != nil {
				rec.Sample.AppendTruth(rec.Sample.Append(nil))
			}
			AppendMaps(nil, 1, rec.Maps)
		}
	})
}

// FuzzPlan plans copies of arbitrary bytes, and checks that entries lead into the copy.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x75, 0xf5, 0xff, 0x25, 0, 1, 0, 0, 0xc3}, uint16(4))
	f.Add([]byte{0xe3, 0xfe, 0xe2, 0x80, 0xeb, 0x7f, 0xc2, 8, 0, 0xff, 0x54, 0x24, 8, 0xc7, 0xf8, 1, 0, 0, 0}, uint16(1))
	f.Fuzz(func(t *testing.T, code []byte, function uint16) {
		if len(code) > 1<<16 {
			return
		}
		m := Module{Sections: []Section{{0x401010, code}}, Functions: []uint64{0x401010, 0x401010 + uint64(function)}, Fixed: true}
		m.Functions = slices.Compact(m.Functions)
		image, err := Plan(m)
		if err != nil {
			return
		}
		for at, e := range image.Entry {
			if int(e) > len(image.Code) {
				t.Fatalf("the entry of %#x leads to %#x of %#x", at, e, len(image.Code))
			}
		}
		image.Encode(1, 2)
	})
}
