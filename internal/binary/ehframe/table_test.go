package ehframe

import (
	"cmp"
	"debug/elf"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// TestTable compares the rows of functions that are made when they are needed with those of the whole table, for libraries of
// this machine and of AArch64.
func TestTable(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6", "/usr/bin/gcc", "/usr/bin/bash", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("no libraries")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			section := f.Section(".eh_frame")
			if section == nil {
				t.Skip("no .eh_frame")
			}
			data, err := section.Data()
			if err != nil {
				t.Fatal(err)
			}
			of := machine.X86_64
			if f.Machine == elf.EM_AARCH64 {
				of = machine.AArch64
			}
			compareTable(t, data, section.Addr, of)
		})
	}
}

// compareTable compares the rows at and around all borders.
func compareTable(t *testing.T, data []byte, addr uint64, of machine.Kind) {
	t.Helper()
	rows, _ := Rows(data, addr, of)
	table := NewTable(data, addr, of)
	if !table.Lazy() {
		t.Fatal("the table is not lazy")
	}
	starts, step := 0, 1+len(rows)/8000
	for i := 0; i < len(rows); i += step {
		for _, at := range []uint64{rows[i].PC - 1, rows[i].PC, rows[i].PC + 1} {
			want := Row{}
			if k, found := slices.BinarySearchFunc(rows, at, func(r Row, at uint64) int { return int(int64(r.PC - at)) }); found {
				want = rows[k]
			} else if k > 0 {
				want = rows[k-1]
			}
			got := Row{}
			if r := table.At(at); r != nil {
				got = *r
			}
			if got.PC = want.PC; got != want {
				t.Fatalf("at %#x: %+v, want %+v", at, got, want)
			}
			n, found := slices.BinarySearchFunc(rows, at, func(r Row, at uint64) int { return cmp.Compare(r.PC, at) })
			if found {
				n++
			}
			begins := 0 < n && n < len(rows) && rows[n-1].CFA == CFAUnknown && rows[n].Return == ReturnNone
			if before := table.BeforeStart(at); before != begins {
				t.Fatalf("at %#x: before the start: %v, not %v", at, before, begins)
			}
			if begins {
				starts++
			}
		}
	}
	t.Logf("%d addresses are before the start", starts)
}

// TestTableDamaged checks that a table whose functions overlap is read as a whole, and that damage does no harm.
func TestTableDamaged(t *testing.T) {
	t.Parallel()
	if (*Table)(nil).Lazy() || (*Table)(nil).Rows() != nil || NewTable(nil, 0, machine.X86_64).Lazy() {
		t.Error("an empty table has functions")
	}
	row := []Row{{PC: 1, CFA: CFAStack, Offset: 8}}
	if made := TableOf(row); made.Lazy() || !slices.Equal(made.Rows(), row) {
		t.Errorf("a table of rows has %v", made.Rows())
	}
	f, err := elf.Open("/lib/x86_64-linux-gnu/libm.so.6")
	if err != nil {
		t.Skip("no library")
	}
	defer f.Close()
	section := f.Section(".eh_frame")
	data, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	data = data[:min(len(data), 1200)]
	for i := range data {
		for _, v := range []byte{0, 0xff, data[i] ^ 0x40} {
			changed := slices.Clone(data)
			changed[i] = v
			table := NewTable(changed, section.Addr, machine.X86_64)
			if !table.Lazy() {
				continue
			}
			for k := range table.frames {
				table.At(table.frames[k].lo)
				table.At(table.frames[k].hi - 1)
				table.BeforeStart(table.frames[k].hi)
			}
		}
	}
}

// TestTableConcurrent reads a table from several goroutines, which need the same functions and all rows.
func TestTableConcurrent(t *testing.T) {
	t.Parallel()
	data, addr := section(t, build(t, "g++"), ".eh_frame")
	want, table := NewTable(data, addr, machine.X86_64), NewTable(data, addr, machine.X86_64)
	rows := want.Rows()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if i%4 == 0 {
				if got := table.Rows(); !slices.Equal(got, rows) {
					t.Errorf("%d rows, want %d", len(got), len(rows))
				}
			}
			for k := 0; table.Lazy() && k < len(rows); k++ {
				if got := table.At(rows[k].PC); got != nil && got.CFA != rows[k].CFA {
					t.Errorf("at %#x: %+v, want %+v", rows[k].PC, got, rows[k])
				}
			}
		})
	}
	wait.Wait()
}

// FuzzTable checks that each row is at or before the address that it was found for.
func FuzzTable(f *testing.F) {
	data, at := section(f, build(f, "g++"), ".eh_frame")
	f.Add(data, at)
	f.Add(data[:len(data)/2], at)
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		for _, of := range []machine.Kind{machine.X86_64, machine.AArch64} {
			table := NewTable(data, addr, of)
			if !table.Lazy() {
				continue
			}
			for i := range table.frames {
				fn := &table.frames[i]
				for _, pc := range []uint64{fn.lo, fn.lo + (fn.hi-fn.lo)/2, fn.hi - 1} {
					if r := table.At(pc); r != nil && r.PC > pc {
						t.Fatalf("at %#x: %+v", pc, r)
					}
				}
				if r := table.At(fn.lo - 1); r != nil && i == 0 {
					t.Fatalf("ahead of all functions: %+v", r)
				}
			}
		}
	})
}
