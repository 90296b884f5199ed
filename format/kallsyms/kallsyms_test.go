package kallsyms

import (
	"errors"
	"strings"
	"testing"
)

const list = `ffffffff81000000 T _text
ffffffff81000000 T first
ffffffff81000100 t second.isra.0
ffffffff81000200 D data
ffffffff81000300 W weak
ffffffffc0001000 t nf_hook	[nf_tables]
0000000000000000 A fixed_percpu_data
`

func TestTable(t *testing.T) {
	t.Parallel()
	table, err := Read(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0xffffffff80ffffff: "", 0xffffffff81000000: "first", 0xffffffff810000ff: "first", 0xffffffff81000210: "second.isra.0",
		0xffffffff81000301: "weak", 0xffffffffc0001000: "", 0x401136: "", 0: "",
	} {
		if got := table.Name(addr); got != want {
			t.Errorf("%#x is in %q, want %q", addr, got, want)
		}
	}
	if table.Address("_text") != 0xffffffff81000000 || table.Address("nothing") != 0 {
		t.Error("addresses of names")
	}
	if _, err := Read(strings.NewReader("0000000000000000 T _text\n0000000000000000 t f\n")); !errors.Is(err, ErrHidden) {
		t.Errorf("of hidden addresses: %v", err)
	}
	for _, text := range []string{"x", "ffff T", "zz T f\n", "1 TT f\n"} {
		if _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if empty, err := Read(strings.NewReader("")); err != nil || empty.Name(1) != "" {
		t.Errorf("of an empty list: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(list)
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, s := range table.symbols {
			if table.Name(s.addr) == "" {
				t.Fatalf("nothing at %#x", s.addr)
			}
		}
	})
}
