package nativert

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// maxSize is what the runtime may add to a program, code and constants: 5,080
// bytes less what the linker makes for it of dynamic symbols and relocations,
// see "a small program" in bench.
const maxSize = 5080 - 340

// maxMapped is that for programs that map it.
const maxMapped = 512

// maxAArch64 and maxMappedAArch64 are those where instructions have four bytes each.
const maxAArch64, maxMappedAArch64 = 6960, 672

// objects are all that the runtime of records is compiled to.
func objects(m Machine) []Object {
	mapped := MappedObjects(m, "/usr/lib/cairn/cairn-0123456789ab.rt", 4096)
	return append(append(Objects(m, "."), mapped...), Image("."))
}

// onMachines runs a test of the runtime's objects for each machine.
func onMachines(t *testing.T, test func(t *testing.T, m Machine)) {
	t.Parallel()
	for _, m := range []Machine{X86_64, AArch64} {
		t.Run(string(m), func(t *testing.T) { test(t, m) })
	}
}

// build compiles the runtime as cairn cc does, and returns the directory.
func build(t *testing.T, m Machine) string {
	t.Helper()
	gcc := "gcc"
	if m == AArch64 {
		gcc = crossCompiler
	}
	gcc, err := exec.LookPath(gcc)
	if err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	for _, f := range Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objects(m) {
		args := append([]string{"-Oz"}, Flags(m)...)
		cmd := exec.Command(gcc, append(append(args, "-c", "-o", o.Name), o.Args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); bytes.Contains(out, []byte("-Oz")) {
			t.Skip("gcc does not know -Oz")
		} else if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

// TestSize checks the size of the runtime.
func TestSize(t *testing.T) { onMachines(t, testSize) }

func testSize(t *testing.T, m Machine) {
	dir := build(t, m)
	for _, o := range objects(m) {
		f, err := elf.Open(filepath.Join(dir, o.Name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var size uint64
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
				size += s.Size
			}
		}
		limit := uint64(maxSize)
		switch {
		case o.Name == "mapped.o" && m == AArch64:
			limit = maxMappedAArch64
		case o.Name == "mapped.o":
			limit = maxMapped
		case m == AArch64:
			limit = maxAArch64
		case o.Name == "image.o":
			limit = wire.PageSize + 1536 // it is in no program
		}
		if size > limit {
			t.Errorf("%s: %d bytes, %d are allowed", o.Name, size, limit)
		}
	}
}

// symbolsOf returns the symbols of a program or object.
func symbolsOf(t *testing.T, program string) []elf.Symbol {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return symbols
}

// checkSymbols checks that an object exports no symbols but those shown, and needs none.
func checkSymbols(t *testing.T, object string, shown ...string) {
	t.Helper()
	for _, s := range symbolsOf(t, object) {
		bind, hidden := elf.ST_BIND(s.Info), elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN
		switch {
		case bind == elf.STB_LOCAL || hidden || slices.Contains(shown, s.Name):
		case s.Section != elf.SHN_UNDEF:
			t.Errorf("%s: %s is visible outside its module", filepath.Base(object), s.Name)
		case bind != elf.STB_WEAK && s.Name != "_GLOBAL_OFFSET_TABLE_":
			t.Errorf("%s: needs %s", filepath.Base(object), s.Name)
		}
	}
}

// TestSymbols checks that the runtime brings no names of its own into a
// program's dynamic symbols, and needs none that a program may lack.
func TestSymbols(t *testing.T) { onMachines(t, testSymbols) }

func testSymbols(t *testing.T, m Machine) {
	dir := build(t, m)
	for _, o := range objects(m) {
		if o.Name == "image.o" { // it is in no program
			continue
		}
		checkSymbols(t, filepath.Join(dir, o.Name))
	}
}

// TestImage links the file that programs map. It checks that the file works at any address and
// has no relocations, names or data, since nothing resolves its references.
func TestImage(t *testing.T) { onMachines(t, testImage) }

// nearby are the relocations that stay valid if a file is moved by whole pages.
var nearby = map[Machine][]string{
	X86_64: {"R_X86_64_PC32", "R_X86_64_PLT32", "R_X86_64_NONE"},
	AArch64: {
		"R_AARCH64_CALL26", "R_AARCH64_JUMP26", "R_AARCH64_ADR_PREL_PG_HI21", "R_AARCH64_ADD_ABS_LO12_NC",
		"R_AARCH64_LDST8_ABS_LO12_NC", "R_AARCH64_LDST16_ABS_LO12_NC", "R_AARCH64_LDST32_ABS_LO12_NC", "R_AARCH64_LDST64_ABS_LO12_NC",
		"R_AARCH64_CONDBR19", "R_AARCH64_TSTBR14", "R_AARCH64_ADR_PREL_LO21", "R_AARCH64_PREL32", "R_AARCH64_NONE",
	},
}

func testImage(t *testing.T, m Machine) {
	dir := build(t, m)
	gcc := "gcc"
	if m == AArch64 {
		gcc = crossCompiler
	}
	runTool(t, dir, gcc, append([]string{"-Wl,--emit-relocs", "-o", "image", "image.o"}, ImageLinkFlags(m)...)...)
	f, err := elf.Open(filepath.Join(dir, "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		switch {
		case s.Flags&elf.SHF_ALLOC != 0 && s.Name != ImageSection && s.Type != elf.SHT_NOBITS:
			t.Errorf("%s is not in the file", s.Name)
		case s.Name == ".rela"+ImageSection:
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			for ; len(data) >= 24; data = data[24:] {
				kind := elf.R_X86_64(f.ByteOrder.Uint32(data[8:])).String()
				if m == AArch64 {
					kind = elf.R_AARCH64(f.ByteOrder.Uint32(data[8:])).String()
				}
				if !slices.Contains(nearby[m], kind) {
					t.Errorf("%v at %#x depends on where the file lies", kind, f.ByteOrder.Uint64(data))
				}
			}
		}
	}
	if first := f.Section(ImageSection); first == nil || first.Addr != 0 || f.Entry != 0 {
		t.Error("the file does not begin with enter")
	}
}
