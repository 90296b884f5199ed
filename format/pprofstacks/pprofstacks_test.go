package pprofstacks

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/cairnprof/cairn/sample"
)

// small is a profile with an inlined function, code of the kernel, and code without a symbol.
func small() *profile.Profile {
	mapping := &profile.Mapping{ID: 1, File: "/bin/app"}
	kernel := &profile.Mapping{ID: 2, File: "[kernel.kallsyms]"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "milliseconds"}, {Type: "inuse_space", Unit: "bytes"}},
		Mapping:    []*profile.Mapping{mapping, kernel}, DefaultSampleType: "cpu",
	}
	function := func(name string) *profile.Function {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: "_" + name}
		p.Function = append(p.Function, f)
		return f
	}
	location := func(m *profile.Mapping, functions ...*profile.Function) *profile.Location {
		l := &profile.Location{ID: uint64(len(p.Location) + 1), Mapping: m}
		for _, f := range functions {
			l.Line = append(l.Line, profile.Line{Function: f})
		}
		p.Location = append(p.Location, l)
		return l
	}
	main := location(mapping, function("in"), function("main"))
	read := location(kernel, function("vfs_read"))
	bare := location(mapping)
	unnamed := location(nil, function(""))
	p.Sample = []*profile.Sample{
		{Location: []*profile.Location{read, main}, Value: []int64{3, 30, 0}},
		{Location: []*profile.Location{bare, unnamed}, Value: []int64{1, 10, -5}},
		{Value: []int64{1, 10, 7}},
	}
	return p
}

func encoded(t testing.TB, p *profile.Profile) []byte {
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func show(data []byte) string {
	var b strings.Builder
	for s, err := range Read(bytes.NewReader(data), "in") {
		if err != nil {
			fmt.Fprintf(&b, "! %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s %d %s of %d:", s.Event, s.Value, s.Unit, s.Moments)
		for _, f := range s.Frames {
			fmt.Fprintf(&b, " %s/%d", f.Name, f.Kind)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	const want = `cpu 30000000 ns of 3: main/0 in/2 vfs_read/1
cpu 10000000 ns of 1: __/0 [app]/0
cpu 10000000 ns of 1:
samples 3 samples of 3: main/0 in/2 vfs_read/1
samples 1 samples of 1: __/0 [app]/0
samples 1 samples of 1:
inuse_space 7 bytes of 1:
! in: offset 0x0: a value of inuse_space is negative, as in differences of profiles: its stack was skipped
`
	data := encoded(t, small())
	if got := strings.ReplaceAll(show(data), " _/0", " __/0"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if !Detect(data) || !Detect(data[:40]) {
		t.Error("not detected")
	}
	for n := range len(data) { // a profile that is cut off is an error, not a part of one
		if got := show(data[:n]); n > 2 && !strings.Contains(got, "!") && strings.Count(got, "\n") >= strings.Count(want, "\n") {
			t.Fatalf("of %d bytes: %s", n, got)
		}
	}
}

// TestDetectOthers checks that texts and other messages are not taken for profiles.
func TestDetectOthers(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"", "\n\n\n", "Heap 12", "PZ\n", "main;f 12\n", "\x0a\x04abcd\x0a", "\x7fELF", "\x1f\x8b\x08"} {
		if Detect([]byte(head)) {
			t.Errorf("%q is detected", head)
		}
	}
	// Writers may put fields in any order.
	if !Detect([]byte("\x48\x01\x50\x02\x0a\x04\x08\x01\x10\x02")) {
		t.Error("a profile that begins with its time is not detected")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encoded(f, small()))
	f.Fuzz(func(t *testing.T, data []byte) {
		Detect(data)
		for s, err := range Read(bytes.NewReader(data), "in") {
			var damage *sample.Damage
			if err != nil && !errors.As(err, &damage) {
				return
			}
			if err == nil {
				for _, fr := range s.Frames {
					if fr.Name == "" {
						t.Fatal("a frame without a name")
					}
				}
			}
		}
	})
}
