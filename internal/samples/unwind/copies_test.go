//go:build linux

package unwind

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/sample"
)

// TestGone has a copy of a stack in a mapped file that has become shorter since it was read.
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
	rows := []ehframe.Row{{PC: text, CFA: ehframe.CFAStack, Offset: 8}}
	src := &source{batches: []*sample.Batch{{
		Events:  []sample.Event{{Kind: sample.Map, PID: 9, Mapping: sample.Mapping{Start: text, Size: 0x1000, Offset: 0x1000, Path: "prog", Exec: true}}},
		Samples: []sample.Sample{{PID: 9, Count: 1, User: &sample.UserState{Mask: 1<<6 | 1<<7 | 1<<8, Regs: []uint64{0, 0x7000, text + 0x30}, Stack: stack}}},
	}}}
	opt := Options{Moments: true, Frameless: true, Tables: func(*sample.Mapping) *stackcopy.Table { return &stackcopy.Table{Rules: stackcopy.NewRules(rows)} }}
	got, err := Run(t.Context(), src, code(t), opt, 1)
	if err != nil || got.Stats.Copies[stackcopy.Damaged] != 1 {
		t.Errorf("%v, %+v", err, got.Stats)
	}
}
