//go:build linux

package stackcopy

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/sample"
)

// TestGone walks a copy in a mapped file that has become shorter since it was read.
func TestGone(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "perf.data"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const page = 4096
	if err := file.Truncate(page); err != nil {
		t.Fatal(err)
	}
	stack, err := syscall.Mmap(int(file.Fd()), 0, page, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(stack) }()
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	rules := NewRules([]ehframe.Row{{PC: 0x1000, CFA: ehframe.CFAStack, Offset: 8}})
	u := &sample.UserState{Mask: 1<<x86FP | 1<<x86SP | 1<<x86IP, Regs: []uint64{0, 0x7000, 0x1030}, Stack: stack}
	if of := MachineOf(u); of != machine.X86_64 {
		t.Errorf("registers of %v", of)
	}
	got, end := Walk([]uint64{1}, u, machine.X86_64, func(uint64) *Table { return &Table{Rules: rules} })
	if end != Damaged || len(got) != 1 {
		t.Errorf("%#x, end %d: want nothing appended, end %d", got, end, Damaged)
	}
}
