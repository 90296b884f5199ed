package listing

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/internal/binary/asmtext"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// program has two functions, one of which a compiler made a copy of, and stubs.
func program() *objfile.Program {
	symbol := func(name string, addr uint64, section int) objfile.TableSymbol {
		return objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: addr}, Func: name != "", Section: section}
	}
	return &objfile.Program{
		Path: "app", Machine: machine.X86_64,
		Code: []objfile.CodeSection{
			{Name: ".text", Index: 3, Addr: 0x1010, Data: []byte("\x90\x55\xc3\x06\xc5")},
			{Name: ".plt", Index: 2, Addr: 0x2000, Data: []byte("\xff\xe0")},
		},
		Symbols: []objfile.TableSymbol{symbol("stub", 0x2000, 2), symbol("main", 0x1011, 3), symbol("", 0x1011, 3), symbol("copy.llvm.7", 0x1012, 3)},
	}
}

// TestWrite checks that sections are in file order, that symbols are sorted by address and
// name, and that bytes before the first symbol are not printed.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		options Options
		want    string
	}{
		{Options{}, "<.text>:\n\n<main>:\n    1011:\tpushq\t%rbp\n\n<copy.llvm.7>:\n    1012:\tretq\n    1013:\t<unknown>\n    1014:\t<unknown>\n\n"},
		{Options{Canonical: true, Functions: []string{"copy"}, Syntax: asmtext.Intel}, "<copy>:\n    1012:\tret\n    1013:\t<unknown>\n    1014:\t<unknown>\n\n"},
	} {
		var b strings.Builder
		count, err := Write(&b, program(), x.options)
		if err != nil || count.Invalid != 2 || count.AsBytes != 0 {
			t.Errorf("%+v, %v", count, err)
		}
		want := "\nDisassembly of app:\n\nDisassembly of section .plt [0x2000, 0x2002]:\n\n\nDisassembly of section .text [0x1010, 0x1015]:\n\n" + x.want
		if b.String() != want {
			t.Errorf("%+v: got\n%s\nwant\n%s", x.options, b.String(), want)
		}
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	p := program()
	for _, name := range []string{"main", "add"} {
		p.Probed = binary.LittleEndian.AppendUint64(p.Probed, pseudoprobe.GUID(name))
		p.Probed = binary.LittleEndian.AppendUint64(p.Probed, 7)
		p.Probed = append(append(p.Probed, byte(len(name))), name...)
	}
	// main has a block with a discriminator where it begins, and a call that add was inlined at.
	p.Probes = binary.LittleEndian.AppendUint64(p.Probes, pseudoprobe.GUID("main"))
	p.Probes = append(p.Probes, 1, 1, 1, 0xc0, 0, 5, 6)
	p.Probes = binary.LittleEndian.AppendUint64(p.Probes, pseudoprobe.GUID("add"))
	p.Probes = append(p.Probes, 1, 0, 2, 0x82, 0)
	probes, err := ReadProbes(p, []string{"main"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if _, err := Write(&b, p, Options{Probes: probes, Functions: []string{"main"}}); err != nil {
		t.Fatal(err)
	}
	want := " [Probe]:\tFUNC: main Index: 1  Discriminator: 5  Type: Block  \n [Probe]:\tFUNC: add Index: 2  Type: DirectCall  Inlined: @ main:6\n    1011:\tpushq\t%rbp\n"
	if !strings.Contains(b.String(), want) || !strings.HasPrefix(b.String(), "Pseudo Probe Desc:\nGUID: ") {
		t.Errorf("got\n%s", b.String())
	}
	var all strings.Builder
	if err := WriteDescriptions(&all, p); err != nil || !strings.HasPrefix(b.String(), all.String()) {
		t.Errorf("%q, %v", all.String(), err)
	}
	p.Probes = p.Probes[:10]
	if _, err := ReadProbes(p, nil); err == nil || !strings.HasPrefix(err.Error(), "app: .pseudo_probe: ") {
		t.Errorf("damaged: %v", err)
	}
}

func TestProbeIndex(t *testing.T) {
	t.Parallel()
	for discriminator, want := range map[uint32]uint32{0x7: 0, 0x2f: 5, 0x7ffff: 0xffff, 1<<28 | 0x7ffff: 0x1fff} {
		if got := probeIndex(discriminator); got != want {
			t.Errorf("%#x: %#x, want %#x", discriminator, got, want)
		}
	}
}
