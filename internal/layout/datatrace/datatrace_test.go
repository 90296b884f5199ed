package datatrace_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/layout/datatrace"
)

// program has three pages of data in two sections.
func program() *datatrace.Program {
	return &datatrace.Program{
		Sections: []datatrace.Section{{Name: ".rodata", Addr: 0x3000, Size: 0x1800}, {Name: ".data", Addr: 0x5000, Size: 0x100}},
		Objects: []datatrace.Object{
			{Name: "table", Addr: 0x3000, Size: 0x1000},
			{Name: "late", Addr: 0x4100, Size: 12},
			{Name: "early", Addr: 0x410c, Size: 4},
			{Name: "variable", Addr: 0x5000, Size: 8, Section: 1},
			{Name: "alias", Addr: 0x5000, Size: 8, Section: 1},
			{Name: "late", Addr: 0x5020, Size: 8, Section: 1},
		},
		Entry: 0x1040, Lengths: []int{4, 2, 3},
	}
}

// entry are the first instructions, at some address.
const entry = "I  0010a040,4\nI  0010a044,2\nI  0010a046,3\n"

func order(r *datatrace.Recorder) string {
	var names []string
	for _, o := range r.Order() {
		names = append(names, o.Name)
	}
	return strings.Join(names, " ")
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, trace, order, pages string }{
		{"nothing", entry, "", "0 0"},
		{"first access", entry + " L 0010d10c,4\n S 0010e000,8\n L 0010d10c,4\n M 0010d100,4\n", "early variable alias late", "2 2"},
		{"a part of a table", entry + " L 0010cff8,8\n", "table", "1 1"},
		{"two pages become one", entry + " L 0010d10c,4\n L 0010c000,8\n", "early table", "2 1"},
		{"a wide access", entry + " L 0010d100,16\n", "late early", "1 1"},
		{"of no object", entry + " L 0010d400,4\n", "", "1 1"},
		{"outside", entry + " L 0010bff8,4\n L 1ffeffe7e0,8\n L ffffffffffffffff,8\n", "", "0 0"},
		{"before the entry", " S 0010e000,8\n" + entry, "variable alias", "1 1"},
		{"the dynamic linker at the same offset of a page", "I  04002040,4\nI  04002044,3\n" + entry + " S 0010e000,8\n", "variable alias", "1 1"},
		{"an entry within another", "I  04002040,4\nI  0010a040,4\nI  0010a044,2\nI  0010a046,3\n S 0010e000,8\n", "variable alias", "1 1"},
		{"other text", "==1== Lackey, an example Valgrind tool\n\n" + entry + "hello\n L 0010e000,8\n L zzz,8\n L 0010e020\n L 0010e020,0\n", "variable alias", "1 1"},
	} {
		r, err := datatrace.New(program())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Read(strings.NewReader(tc.trace)); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got := order(r); got != tc.order {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.order)
		}
		now, ordered := r.Pages()
		if got := fmt.Sprint(now, ordered); got != tc.pages {
			t.Errorf("%s: %s pages, want %s", tc.name, got, tc.pages)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		trace string
		want  error
	}{
		{"", datatrace.ErrNoTrace},
		{"==1== Lackey\n" + strings.Repeat("x", 1<<17) + "\n", datatrace.ErrNoTrace},
		{" L 0010e000,8\n", datatrace.ErrOther},
		{"I  0010a040,4\nI  0010a044,3\nI  0010a047,3\n", datatrace.ErrOther},
	} {
		r, err := datatrace.New(program())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Read(strings.NewReader(tc.trace)); !errors.Is(err, tc.want) {
			t.Errorf("%.40q: %v, want %v", tc.trace, err, tc.want)
		}
	}
	p := program()
	p.Sections[1].Addr = 1 << 40
	if _, err := datatrace.New(p); err == nil {
		t.Error("sections far apart are accepted")
	}
	if _, err := datatrace.New(&datatrace.Program{}); err == nil {
		t.Error("a program without symbols is accepted")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(entry + " L 0010d10c,4\n S 0010e000,8\n")
	f.Fuzz(func(t *testing.T, trace string) {
		r, err := datatrace.New(program())
		if err != nil {
			t.Fatal(err)
		}
		if r.Read(strings.NewReader(trace)) != nil {
			return
		}
		if now, ordered := r.Pages(); now > 3 || ordered > now+3 || r.Bytes() > 0x2000 {
			t.Errorf("%d pages, %d ordered, %d bytes", now, ordered, r.Bytes())
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := entry + strings.Repeat("I  0010a049,4\n L 0010d10c,4\n S 1ffeffe7e0,8\n", 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r, err := datatrace.New(program())
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Read(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
