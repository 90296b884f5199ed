package objfile

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestModules compares headers, the contents of sections, also compressed ones, and dynamic
// symbols of programs, libraries and objects with debug/elf.
func TestModules(t *testing.T) {
	t.Parallel()
	dir, bin := build(t, "gcc", "-g", "-gz=zlib")
	files := []string{bin}
	if _, err := exec.LookPath("llvm-objcopy-22"); err == nil {
		run(t, dir, "llvm-objcopy-22", "--decompress-debug-sections", "app", "plain")
		run(t, dir, "llvm-objcopy-22", "--compress-debug-sections=zstd", "plain", "zstd")
		files = append(files, filepath.Join(dir, "zstd"))
	}
	run(t, dir, "gcc", "-Iinc", "-g", "-c", "-ffunction-sections", "main.c")
	files = append(files, filepath.Join(dir, "main.o"))
	patterns := []string{"/usr/lib/*/libc.so.6", "/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/bin/ld"}
	if !testing.Short() {
		patterns = []string{"/usr/lib/*/*.so*", "/usr/bin/*", "/usr/aarch64-linux-gnu/lib/*.so*"}
	}
	for _, p := range patterns {
		found, _ := filepath.Glob(p)
		files = append(files, found...)
	}
	compared := 0
	for _, path := range files {
		if want, err := elf.Open(path); err == nil {
			if want.Class == elf.ELFCLASS64 && want.Data == elf.ELFDATA2LSB {
				sameModule(t, path, want)
				compared++
			}
			want.Close()
		}
	}
	if t.Logf("%d files compared", compared); compared < 4 {
		t.Error("too few")
	}
}

func sameModule(t *testing.T, path string, want *elf.File) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	m := f.elf
	if m.Type != want.Type || m.Machine != want.Machine || m.Entry != want.Entry || len(m.Sections) != len(want.Sections) || len(m.Progs) != len(want.Progs) {
		t.Fatalf("%s: %v, %v, %#x, %d sections, %d segments", path, m.Type, m.Machine, m.Entry, len(m.Sections), len(m.Progs))
	}
	for i, p := range want.Progs {
		if m.Progs[i].ProgHeader != p.ProgHeader {
			t.Errorf("%s: segment %d: %+v, want %+v", path, i, m.Progs[i].ProgHeader, p.ProgHeader)
		}
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range want.Sections {
		got := m.Sections[i].SectionHeader
		got.Entsize = s.Entsize // nobody asks
		if got != s.SectionHeader {
			t.Errorf("%s: section %d: %+v, want %+v", path, i, got, s.SectionHeader)
		}
		if s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL || st.Size() > 16<<20 {
			continue
		}
		wantData, err := s.Data()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if data, err := f.read(m.Sections[i]); err != nil || !bytes.Equal(data, wantData) {
			t.Errorf("%s: section %s: %d bytes (%v), want %d", path, s.Name, len(data), err, len(wantData))
		}
	}
	symbols, err := f.dynamicSymbols()
	wantSymbols, wantErr := want.DynamicSymbols()
	if err != nil || wantErr == nil && len(symbols) != len(wantSymbols)+1 {
		t.Errorf("%s: %d dynamic symbols (%v), want %d (%v)", path, len(symbols), err, len(wantSymbols), wantErr)
		return
	}
	for i, w := range wantSymbols {
		got := symbols[i+1]
		if got.Name != w.Name || got.Info != w.Info || got.Section != w.Section || got.Value != w.Value || got.Size != w.Size {
			t.Errorf("%s: dynamic symbol %d: %+v, want %+v", path, i+1, got, w)
		}
	}
}
