package objfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgram(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-g", "-O2", "-no-pie")
	p, err := open(t, bin).Program()
	if err != nil {
		t.Fatal(err)
	}
	sym := symbolOf(t, bin, "main")
	text := 0
	for i, c := range p.Code {
		if i > 0 && c.Addr < p.Code[i-1].Addr {
			t.Errorf("%s is behind %s", c.Name, p.Code[i-1].Name)
		}
		if sym.Addr-c.Addr < uint64(len(c.Data)) {
			text = c.Index
		}
	}
	found := false
	for _, s := range p.Symbols {
		if s.Name == "main" {
			found = s.Func && s.Addr == sym.Addr && s.Size == sym.Size && s.Section == text && text != 0
		}
	}
	if !found {
		t.Errorf("main is not among %d symbols of section %d", len(p.Symbols), text)
	}
	found = false
	for _, r := range p.Ranges {
		found = found || r.Name == "main" && r.Lo == sym.Addr && r.Hi == sym.Addr+sym.Size
	}
	if !found {
		t.Errorf("main is not among %d ranges", len(p.Ranges))
	}
	exec := 0
	for _, s := range p.Segments {
		if s.Exec {
			exec++
			if sym.Addr-s.Addr >= s.Size {
				t.Errorf("main is not in segment %+v", s)
			}
		}
	}
	if exec != 1 || len(p.Segments) < 3 || len(p.Probes) != 0 {
		t.Errorf("%d of %d segments are executable, %d bytes of probes", exec, len(p.Segments), len(p.Probes))
	}
}

func TestProgramOfAnotherMachine(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-g")
	elf, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	elf = bytes.Clone(elf)
	elf[18], elf[19] = 243, 0 // e_machine: RISC-V
	path := filepath.Join(t.TempDir(), "arm")
	if err := os.WriteFile(path, elf, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, path).Program(); err == nil || !strings.Contains(err.Error(), "its code is for RISC-V, and its instructions are read only for x86-64 and AArch64") {
		t.Errorf("%v", err)
	}
}
