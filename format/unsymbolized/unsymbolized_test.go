package unsymbolized

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

const inContexts = `[]
  1
  167-183:3
  2
  ffffffffffbff001->167:3
  183->1b0:4
[0x183]
  0
  0
[0x183 @ 0x1bd]
  2
  180-183:4343
  188-190:4247
  0
[0x183 @ 0x9]
  0
  1
  190->180:4383
`

const named = `[]
  0
  1
  ffffffffffbff001->167:3
[main:4 @ twice:0.1 @ add]
  1
  180-183:4343
  0
[twice]
  0
  0
`

const flat = `1
167-183:3
2
183->167:3
190->180:4383
`

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{inContexts, named, flat, ""} {
		p, err := Read(strings.NewReader(text), "file")
		if err != nil {
			t.Fatal(err)
		}
		if p.HasContexts != strings.HasPrefix(text, "[") {
			t.Errorf("contexts: %t", p.HasContexts)
		}
		if text != "" && !Detect([]byte(text)) {
			t.Errorf("not detected: %q", text)
		}
		var out bytes.Buffer
		if err := Write(&out, p); err != nil || out.String() != text {
			t.Errorf("%v, written:\n%s", err, &out)
		}
		crlf, err := Read(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")+"\r\n"), "file")
		if err != nil || len(crlf.Counts) != len(p.Counts) {
			t.Errorf("with CRLF: %v", err)
		}
	}
}

func ranged(first, last, count uint64) sample.RangeCount {
	return sample.RangeCount{First: first, Last: last, Count: count}
}

func branched(from, to, count uint64) sample.BranchCount {
	return sample.BranchCount{Branch: sample.Branch{From: from, To: to}, Count: count}
}

// TestOrder writes what is not in order.
func TestOrder(t *testing.T) {
	t.Parallel()
	p := &Profile{HasContexts: true, Counts: []sample.Counts{
		{Context: []uint64{0x183, 0x9}, Branches: []sample.BranchCount{branched(0x190, 0x180, 4383)}},
		{Context: []uint64{0x183, 0x1bd}, Ranges: []sample.RangeCount{ranged(0x188, 0x190, 4247), ranged(0x180, 0x183, 4343)}},
		{Context: []uint64{0x183}},
		{
			Ranges:   []sample.RangeCount{ranged(0x167, 0x183, 3)},
			Branches: []sample.BranchCount{branched(0x183, 0x1b0, 4), branched(0xffffffffffbff001, 0x167, 3)},
		},
	}}
	var out bytes.Buffer
	if err := Write(&out, p); err != nil || out.String() != inContexts {
		t.Errorf("%v, written:\n%s", err, &out)
	}
}

// TestLLVM writes what llvm-profgen 22 wrote of a run of a small program.
func TestLLVM(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"contexts.txt", "flat.txt"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Read(bytes.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Write(&out, p); err != nil || !bytes.Equal(out.Bytes(), text) {
			t.Errorf("%s: %v, written:\n%s", name, err, &out)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"[0x1", `file: line 1: "[0x1" is not a context`},
		{"[1]", "is not a context"},
		{"[main @ add]", "is not a context"},
		{"[main:65536 @ add]", "is not a context"},
		{"[main:1 @ ]", "is not a context"},
		{"[0x1]\n0\n0\n[main]\n0\n0\n", `line 4: "[main]": expected a context of addresses`},
		{"[main]\n0\n0\n[0x1]\n0\n0\n", `line 4: "[0x1]" is not a context`},
		{"[0x1 @ ]", "is not a context"},
		{"[0x1]", "file: line 1: unexpected end of file: expected the number of ranges"},
		{"[0x1]\nx", `line 2: "x": expected the number of ranges`},
		{"[0x1]\n2\n1-2:3\n", "line 3: unexpected end of file after 1 of 2 ranges"},
		{"[0x1]\n99999999999999999\n1-2:3\n", "after 1 of 99999999999999999 ranges"},
		{"[0x1]\n1\n1->2:3\n", `"1->2:3" is not of the form FROM-TO:COUNT`},
		{"1\n1-2:3\n", "line 2: unexpected end of file: expected the number of branches"},
		{"0\n1\n1-2:3\n", "not of the form FROM->TO:COUNT"},
		{"0\n0\n0\n0\n", `line 3: "0": expected a context in brackets`},
		{"[]\n0\n0\n0\n0\n", `line 4: "0": expected a context`},
		// AutoFDO's text.
		{"1\n10-18:3\n2\n14:1\n18:2\n1\n18->10:3\n// build_id: 0x12\n// /bin/app\n", "line 3: it is the text of simpleperf inject for AutoFDO"},
		{"1\n10-18:3\n0\n1\n18->10:3\n// /bin/app\n", "line 3: it is the text of simpleperf inject for AutoFDO"},
		{"1\n10-18:3\n0\n\nx\n", `line 5: "x": expected a context in brackets`},
		{"1\n" + strings.Repeat("a", maxLine+1), "file: line 2 has more than 16777216 bytes"},
	} {
		if _, err := Read(strings.NewReader(tc.text), "file"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

// TestNoTaken reads ranges without a branch.
func TestNoTaken(t *testing.T) {
	t.Parallel()
	p, err := Read(strings.NewReader("1\n10-18:3\n0\n\n"), "file")
	if err != nil || len(p.Counts) != 1 || len(p.Counts[0].Ranges) != 1 || len(p.Counts[0].Branches) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestDetectOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "7\n", "7\n 401000\n", "PERF_RECORD_MMAP2 1/1\n", "main:7:1\n 1: 2\n", "[main]:1:1\n", "[main:1 @ add]\n 1: 2\n", "[main]\nx", "\t 401000\n"} {
		if Detect([]byte(text)) {
			t.Errorf("%q is taken for an unsymbolized profile", text)
		}
	}
}

// FuzzRead compares what was read with what is written of it and read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte("1\n10-18:3\n2\n14:1\n18:2\n1\n18->10:3\n// /bin/app\n"))
	for _, text := range []string{inContexts, named, flat, "[0x1", "[]\n0\n0\n[a:1 @ b]\n0\n0\n", "[]\n1\n", "1\n1-2:3\n0\n", "99999999999\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data), "file")
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		if err := Write(&once, p); err != nil {
			t.Fatal(err)
		}
		q, err := Read(bytes.NewReader(once.Bytes()), "file")
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(&twice, q); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("%q is %q when read again (%v)", once.Bytes(), twice.Bytes(), err)
		}
	})
}
