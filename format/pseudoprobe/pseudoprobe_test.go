package pseudoprobe

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// example is a real record of clang 22: main, into which add was inlined at
// probe 6, and after it a function of two probes.
const example = "fad58de7366495db0901" +
	"01800a" + "028000" + "048006" + "088000" + "028000" + "058206" + "078216" + "038016" + "098000" +
	"06" + "670029bbfb929e4c0200" + "01804e" + "048000" +
	"22384709d743fe3c0200" + "018004" + "028203"

const (
	guidMain = 0xdb956436e78dd5fa
	guidAdd  = 0x4c9e92fbbb290067
	guidMid  = 0x3cfe43d709473822
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func start(guid uint64) uint64 {
	return map[uint64]uint64{guidMain: 0x401220, guidMid: 0x401210}[guid]
}

func TestGUID(t *testing.T) {
	t.Parallel()
	if got := GUID("main"); got != guidMain {
		t.Errorf("%#x", got)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	table, err := Read(unhex(example), Options{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	wantCopies := []Copy{
		{GUID: guidMain, Parent: TopLevel, First: 0, Count: 9},
		{GUID: guidAdd, Parent: 0, Site: 6, First: 9, Count: 2},
		{GUID: guidMid, Parent: TopLevel, First: 11, Count: 2},
	}
	if !slices.Equal(table.Copies, wantCopies) {
		t.Errorf("%+v", table.Copies)
	}
	wantProbes := []Probe{
		{Addr: 0x40122a, ID: 1},
		{Addr: 0x40122a, ID: 2},
		{Addr: 0x401230, ID: 4},
		{Addr: 0x401230, ID: 8},
		{Addr: 0x401230, ID: 2},
		{Addr: 0x401236, ID: 5, Kind: DirectCall},
		{Addr: 0x40124c, ID: 7, Kind: DirectCall},
		{Addr: 0x401262, ID: 3},
		{Addr: 0x401262, ID: 9},
		{Addr: 0x401230, ID: 1, Copy: 1},
		{Addr: 0x401230, ID: 4, Copy: 1},
		{Addr: 0x401214, ID: 1, Copy: 2},
		{Addr: 0x401217, ID: 2, Copy: 2, Kind: DirectCall},
	}
	if !slices.Equal(table.Probes, wantProbes) {
		t.Errorf("%+v", table.Probes)
	}
	if got := table.Between(0x401217, 0x401230); !slices.Equal(got, []uint32{12, 0, 1, 2, 3, 4, 9, 10}) {
		t.Errorf("between: %d", got)
	}
	if got := table.Between(0x401230, ^uint64(0)); len(got) != 9 {
		t.Errorf("to the end: %d", got)
	}
	if got := table.Between(2, 1); len(got) != 0 {
		t.Errorf("an empty range: %d", got)
	}
	if i, ok := table.CallAt(0x401236); !ok || i != 5 {
		t.Errorf("call: %d, %v", i, ok)
	}
	if _, ok := table.CallAt(0x401230); ok {
		t.Error("a block is a call")
	}
	if !table.Probes[9].IsEntry() || table.Probes[5].IsEntry() || !table.Copies[1].Inlined() || table.Copies[2].Inlined() {
		t.Error("what probes and copies say of themselves")
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	table, err := Read(unhex(example), Options{Start: start, Keep: func(guid uint64) bool { return guid == guidMid }})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Copies) != 1 || len(table.Probes) != 2 || table.Probes[1].Addr != 0x401217 || table.Copies[0].First != 0 {
		t.Errorf("%+v", table)
	}
}

// TestForms checks that a part of a function elsewhere begins with a sentinel, and that probes
// of old compilers have addresses.
func TestForms(t *testing.T) {
	t.Parallel()
	cold := "fad58de7366495db0200" + "0020" + "22384709d743fe3c" + "03c008" + "05"
	table, err := Read(unhex(cold), Options{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Probe{{Addr: 0x401218, ID: 3, Discriminator: 5}}; !slices.Equal(table.Probes, want) || table.Copies[0].Count != 1 {
		t.Errorf("sentinel: %+v", table)
	}
	lost := strings.Replace(cold, "22384709d743fe3c", "2222222222222222", 1)
	if table, err = Read(unhex(lost), Options{Start: start}); err != nil || table.Probes[0].Addr != 0x222222222222222a {
		t.Errorf("sentinel of an unknown symbol: %+v, %v", table, err)
	}
	absolute := "fad58de7366495db0200" + "01000010400000000000" + "028003" + "22384709d743fe3c0100" + "018004"
	if table, err = Read(unhex(absolute), Options{Start: start}); err != nil {
		t.Fatal(err)
	}
	if a := table.Probes; a[0].Addr != 0x401000 || a[1].Addr != 0x401003 || a[2].Addr != 0x401007 {
		t.Errorf("addresses: %+v", a)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ hex, want string }{
		"cut":           {example[:40], "9 probes do not fit"},
		"many probes":   {"fad58de7366495db" + "ffff7f00", "probes"},
		"many inlinees": {"fad58de7366495db" + "00ffff7f", "inlined functions"},
		"large id":      {"fad58de7366495db" + "0100" + "ffffffff7f8000", "exceeds 32 bits"},
	} {
		if _, err := Read(unhex(c.hex), Options{Start: start}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	deep := strings.Repeat("fad58de7366495db000106", maxInlining+1) + "fad58de7366495db0000"
	if _, err := Read(unhex(deep), Options{}); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("deep: %v", err)
	}
}

// describe makes a record of .pseudo_probe_desc.
func describe(name string, checksum uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, GUID(name))
	b = binary.LittleEndian.AppendUint64(b, checksum)
	b = binary.AppendUvarint(b, uint64(len(name)))
	return append(b, name...)
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	section := slices.Concat(describe("main", 107105011060), describe("mid", 281479271677951), describe("main", 7))
	d, err := ReadDescriptions(section)
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 3 || d.Name(guidMain) != "main" || d.Checksum(guidMain) != 107105011060 || d.Name(GUID("mid")) != "mid" {
		t.Errorf("%+v", d)
	}
	if d.Name(1) != "" || d.Checksum(1) != 0 {
		t.Error("an unknown function has a description")
	}
	if _, err := ReadDescriptions(section[:len(section)-1]); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("cut: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(unhex(example), false)
	f.Add(unhex("fad58de7366495db0200"+"0020"+"22384709d743fe3c"+"03c008"+"05"), true)
	f.Fuzz(func(t *testing.T, section []byte, some bool) {
		o := Options{Start: start}
		if some {
			o.Keep = func(guid uint64) bool { return guid&1 == 0 }
		}
		table, err := Read(section, o)
		if err != nil {
			return
		}
		if len(table.Probes)*minProbe+len(table.Copies)*minCopy > len(section) {
			t.Errorf("%d probes and %d copies in %d bytes", len(table.Probes), len(table.Copies), len(section))
		}
		for i, c := range table.Copies {
			if c.Inlined() && c.Parent >= uint32(i) || int(c.First+c.Count) > len(table.Probes) {
				t.Errorf("copy %d: %+v", i, c)
			}
			for _, p := range table.Probes[c.First : c.First+c.Count] {
				if p.Copy != uint32(i) {
					t.Errorf("probe %+v is in copy %d", p, i)
				}
			}
		}
		last := uint64(0)
		for _, i := range table.Between(0, ^uint64(0)) {
			if p := table.Probes[i]; p.Addr < last {
				t.Errorf("%#x behind %#x", p.Addr, last)
			} else {
				last = p.Addr
			}
			if call, ok := table.CallAt(last); ok && (table.Probes[call].Addr != last || !table.Probes[call].IsCall()) {
				t.Errorf("call at %#x: %+v", last, table.Probes[call])
			}
		}
	})
}

func FuzzDescriptions(f *testing.F) {
	f.Add(slices.Concat(describe("main", 107105011060), describe("mid", 281479271677951)), uint64(guidMain))
	f.Fuzz(func(t *testing.T, section []byte, guid uint64) {
		d, err := ReadDescriptions(section)
		if err != nil {
			return
		}
		if len(d.Name(guid)) > len(section) {
			t.Error("a name longer than the section")
		}
		d.Checksum(guid)
	})
}
