package profdata

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// setup.proftext is what llvm-profdata 22 made of a run of a program of two
// files.
func read(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "setup.proftext"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadOfLLVM22(t *testing.T) {
	t.Parallel()
	data := read(t)
	if Detect(data) != KindText || Detect(data[:64]) != KindText {
		t.Error("not detected")
	}
	p, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"main", "a.c;setup", "work", "b.c;setup", "leaf", "a.c;finish"}
	if len(p.Traces) != 1 || p.StreamSize != 1 || p.Traces[0].Weight != 1 || !slices.Equal(p.Traces[0].Names, want) {
		t.Errorf("%+v", p)
	}
}

func TestReadHeaders(t *testing.T) {
	t.Parallel()
	text := "# x\n\n:IR\n:entry_first\n:single_byte_coverage\r\n:temporal_prof_traces\n2\n9\n\n3\nmain,f,main,\n# c\n1\nf\n" +
		"f\n12\n1\n7\n# Num Value Kinds:\n1\n# ValueKind = IPVK_IndirectCallTarget:\n0\n1\n1\ng:7\n"
	p, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(*p); got != "{[{3 [main f main]} {1 [f]}] 9 []}" {
		t.Error(got)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{":ir\n:odd\n", `line 2: header ":odd"`},
		{":ir\n:temporal_prof_traces\nx\n", `line 3: "x" should be the number of traces`},
		{":ir\n:temporal_prof_traces\n1\n1\n1\n", "line 5: truncated: the functions"},
		{":ir\n:temporal_prof_traces\n2\n1\n1\na,\n", "line 6: truncated: the weight"},
		{":ir\n:temporal_prof_traces\n1\n1\n1\na,b", "line 6: truncated: the functions of a trace do not end with a line break"},
		{":temporal_prof_traces\n99999999999\n", "at most"},
		{":temporal_prof_traces\n1\n1\n1\n,\n", "line 5: a trace without functions"},
		{":temporal_prof_traces\n1\n1\n1\na\n:temporal_prof_traces\n", "line 6: a second list"},
	} {
		if _, err := Read([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q: %v", test.want, err)
		}
	}
	for _, text := range []string{"", ":ir\nmain\n1\n1\n1\n", "\x7fELF"} {
		if _, err := Read([]byte(text)); !errors.Is(err, ErrNoTraces) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSplitName(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]string{
		{"main", "", "main"},
		{"dir/a.c;f", "dir/a.c", "f"},
		{"a.c:f", "a.c", "f"},
		{"a.m:-[List add:]", "a.m", "-[List add:]"},
		{"-[List add:]", "", "-[List add:]"},
		{"a.c;", "", "a.c;"},
	} {
		if file, name := SplitName(test[0]); file != test[1] || name != test[2] {
			t.Errorf("%s: %q %q", test[0], file, name)
		}
	}
}

// module has two functions called f.
func module() *prof.Module {
	m := &prof.Module{Raws: 2, TracesSeen: 2}
	for i, name := range []string{"main", "f", "f", "idle"} {
		m.Funcs = append(m.Funcs, prof.Func{Name: name, File: fmt.Sprintf("%d.c", i), Signature: uint32(100 + i), Mode: prof.ModeOrder})
		m.Counts = append(m.Counts, prof.Counts{Runs: uint64(2 * (i & 1))})
	}
	m.Traces = []prof.Trace{{Weight: 1, Funcs: []uint32{0, 2, 1}}, {Weight: 4, Funcs: []uint32{0, 1, 2}}}
	return m
}

func TestWriteIsRead(t *testing.T) {
	t.Parallel()
	p := FromModule(module())
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	got, err := Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got.Funcs = p.Funcs
	if fmt.Sprint(got) != fmt.Sprint(p) {
		t.Errorf("%v, want %v", got, p)
	}
	for _, name := range []string{"", "a,b", "#a", ":a", "a\nb", " a"} {
		if err := Write(&b, &Profile{Traces: []Trace{{Names: []string{name}}}}); err == nil {
			t.Errorf("wrote %q", name)
		}
	}
}

// TestLLVMReadsIt asks llvm-profdata for the order in a profile of ours.
func TestLLVMReadsIt(t *testing.T) {
	t.Parallel()
	tool := ""
	for _, name := range []string{"llvm-profdata-22", "llvm-profdata"} {
		if _, err := exec.LookPath(name); err == nil {
			tool = name
			break
		}
	}
	if tool == "" {
		t.Skip("no llvm-profdata")
	}
	var b bytes.Buffer
	if err := Write(&b, FromModule(module())); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out.proftext")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, err := exec.Command(tool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	order := run("order", path)
	for _, want := range []string{"main\n", "# 1.c\nf\n", "# 2.c\nf\n"} {
		if strings.Count(order, want) != 1 {
			t.Errorf("no %q in\n%s", want, order)
		}
	}
	show := run("show", "--temporal-profile-traces", path)
	if !strings.Contains(show, "(weight=4 count=3):\n    main\n    1.c;f\n    2.c;f\n") || !strings.Contains(show, "samples=2 seen=2") {
		t.Errorf("traces:\n%s", show)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(read(f))
	f.Add([]byte(":ir\n:temporal_prof_traces\n2\n9\n3\nmain,f,\n1\na.c:f\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Detect(data)
		p, err := Read(data)
		if (err == nil) != (p != nil) {
			t.Fatal(p, err)
		}
		if err != nil {
			return
		}
		var b bytes.Buffer
		if Write(&b, p) != nil {
			return // a name that the form cannot hold
		}
		again, err := Read(b.Bytes())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(p) {
			t.Fatalf("%v: %v, want %v", err, again, p)
		}
	})
}
