package procmaps

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		line string
		want Mapping
	}{
		{"55d07a3c2000-55d07a3c5000 r-xp 00001000 fe:00 10178606                   /usr/bin/cat\n", Mapping{
			Lo: 0x55d07a3c2000, Hi: 0x55d07a3c5000, Read: true, Exec: true, Offset: 0x1000, Device: "fe:00", Inode: 10178606, Name: "/usr/bin/cat",
		}},
		{"7f00-8f00 rw-s 00000000 00:01 7 /a dir/with  blanks (deleted)", Mapping{
			Lo: 0x7f00, Hi: 0x8f00, Read: true, Write: true, Device: "00:01", Inode: 7, Name: "/a dir/with  blanks (deleted)",
		}},
		{"0-1000 ---p 00000000 00:00 0 \n", Mapping{Hi: 0x1000, Device: "00:00"}},
		{"0-1000 ---p 00000000 00:00 0", Mapping{Hi: 0x1000, Device: "00:00"}},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n", Mapping{
			Lo: 0xffffffffff600000, Hi: 0xffffffffff601000, Exec: true, Device: "00:00", Name: "[vsyscall]",
		}},
	} {
		if got, err := Parse([]byte(x.line)); err != nil || got != x.want {
			t.Errorf("%q: got %+v, %v", x.line, got, err)
		}
	}
	for _, line := range []string{"", "\n", "1000-2000", "1000 r-xp 0 0:0 0", "2000-1000 r-xp 0 0:0 0", "1000-2000 r-x 0 0:0 0", "1000-2000 r-xp 0 0:0 x", "g-2000 r-xp 0 0:0 0"} {
		if m, err := Parse([]byte(line)); err == nil {
			t.Errorf("%q is %+v", line, m)
		}
	}
}

// TestSelf checks that the kernel's list of this process has this program, and is sorted.
func TestSelf(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	maps, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(maps, func(m Mapping) bool { return m.Name == path && m.Exec && m.IsFile() && m.Inode != 0 }) {
		t.Errorf("no code of %s in\n%s", path, text)
	}
	if len(maps) != strings.Count(string(text), "\n") || !slices.IsSortedFunc(maps, func(a, b Mapping) int { return cmp.Compare(a.Lo, b.Lo) }) {
		t.Errorf("%d mappings of\n%s", len(maps), text)
	}
	if _, err := Read(append(text, "x\n"...)); err == nil {
		t.Error("a line that is none is no error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("55d07a3c2000-55d07a3c5000 r-xp 00001000 fe:00 10178606                   /usr/bin/cat\n")
	f.Add("7f00-8f00 rw-s 00000000 00:01 7 /a dir/with  blanks (deleted)")
	f.Add("0-1000 ---p 00000000 00:00 0 \n")
	f.Add("-- rwxp 0 0:0 0")
	f.Fuzz(func(t *testing.T, line string) {
		m, err := Parse([]byte(line))
		if err != nil {
			return
		}
		rights := []byte("---p")
		for i, has := range []bool{m.Read, m.Write, m.Exec} {
			if has {
				rights[i] = "rwx"[i]
			}
		}
		again := fmt.Sprintf("%x-%x %s %08x %s %d %s", m.Lo, m.Hi, rights, m.Offset, m.Device, m.Inode, m.Name)
		if got, err := Parse([]byte(again)); err != nil || got != m {
			t.Errorf("%q: got %+v, %v, and of %q %+v", again, got, err, line, m)
		}
	})
}
