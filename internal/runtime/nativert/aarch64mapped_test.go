package nativert

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// TestAArch64Library: a library has records of its own, which are written when it goes.
func TestAArch64Library(t *testing.T) {
	t.Parallel()
	c := newCross(t)
	library := filepath.Join(c.dir, "library.so")
	c.gcc(slices.Concat([]string{"-shared", "-DCOUNT", "-o", library, "-Wl,--build-id"}, c.sources("probes.S"), []string{c.archive})...)
	program := c.life("COUNT")
	for _, continuous := range []string{"1", "0"} {
		e := c.run(execution{env: []string{"CAIRN_CONTINUOUS=" + continuous}}, program, "dlopen", library)
		if e.err != nil || e.output != "" || len(e.files) != 2 || !strings.HasPrefix(e.files[0], "library.so.") {
			t.Fatalf("%v, files %q, output:\n%s", e.err, e.files, e.output)
		}
		got := []string{counted(e.raws[0], 8), counted(e.raws[1], 8)}
		if slices.Sort(got); !slices.Equal(got, []string{"3x2 1x1 2x1", "6x1"}) {
			t.Errorf("%q", got)
		}
	}
}

// TestAArch64Mapped: a runtime that is a file does what one does that is linked in, and a
// program that does not find it, or finds a part of it, runs.
func TestAArch64Mapped(t *testing.T) {
	t.Parallel()
	c := newCross(t)
	file := filepath.Join(c.dir, "cairn.rt")
	image := Image("")
	c.gcc(slices.Concat([]string{"-Oz"}, Flags(AArch64), []string{"-c", "-o", image.Name}, image.Args)...)
	c.gcc(append([]string{"-o", "image", image.Name}, ImageLinkFlags(AArch64)...)...)
	c.command("aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ImageSection, "image", file)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	c.build("libmapped.a", MappedObjects(AArch64, file, int(info.Size())))
	library := filepath.Join(c.dir, "library.so")
	c.gcc(slices.Concat([]string{"-shared", "-DCOUNT", "-o", library, "-Wl,--build-id"}, c.sources("probes.S"), []string{c.archive})...)
	program := c.life("COUNT")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"registers"}, []string{"3x2 1x1 2x1 8x3 9x3"}},
		{[]string{"fork"}, []string{"3x2 1x1 2x1", "5x1 4x1"}},
		{[]string{"dump"}, []string{"3x2 1x1 2x1", "5x1 4x1"}},
		{[]string{"truncate"}, []string{"order 4 of function 5"}},
		{[]string{"dlopen", library}, []string{"3x2 1x1 2x1", "6x1"}},
	} {
		for _, continuous := range []string{"1", "0"} {
			if test.args[0] == "truncate" && continuous == "0" {
				continue // there is no file yet
			}
			e := c.run(execution{env: []string{"CAIRN_CONTINUOUS=" + continuous}}, program, test.args...)
			var got []string
			for _, r := range e.raws {
				got = append(got, counted(r, 8))
				if r.Continuous && len(r.Data) != 64*8+wire.RawHeadRoom { // the room is that of mapped.o, behind the records
					t.Errorf("%q: %d bytes of live memory", test.args, len(r.Data))
				}
			}
			if slices.Sort(got); e.err != nil || e.output != "" || !slices.Equal(got, test.want) {
				t.Errorf("%q: %v, %q, want %q; output %s", test.args, e.err, got, test.want, e.output)
			}
		}
	}
	if r := c.one(execution{}, c.life("ORDER", "-static"), "threads"); r.Next != 64 || r.Slots != 64 {
		t.Errorf("order: %d first calls in %d slots", r.Next, r.Slots)
	}
	for _, size := range []int64{info.Size() - 1, 4096, 0} {
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		e := c.run(execution{}, program, "fork")
		if want := "cairn: nothing is recorded, cannot map " + file + "\n"; e.err != nil || e.output != want || len(e.files) != 0 {
			t.Errorf("a file of %d bytes: %v, files %q, output %q", size, e.err, e.files, e.output)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if e := c.run(execution{}, program, "fork"); e.err != nil || e.output != "" || len(e.files) != 0 {
		t.Errorf("without the file: %v, files %q, output %s", e.err, e.files, e.output)
	}
}

// guarded reports whether a program says that all of it has landing pads, and signs return
// addresses.
func guarded(t *testing.T, program string) bool {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note := f.Section(".note.gnu.property")
	if note == nil {
		return false
	}
	data, err := note.Data()
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte{0, 0, 0, 0xc0, 4, 0, 0, 0})
	return at >= 0 && data[at+8]&3 == 3
}
