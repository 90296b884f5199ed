// Package lbrfile reads from the files of programs what package lbr needs, and passes it the branches of programs that are
// stopped at each of them instead of run as a copy.
package lbrfile

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/watch/lbr"
)

// Plan plans the copy of a module's code.
func Plan(path string, number int) (*lbr.Image, error) {
	file, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := file.Program()
	if err != nil {
		return nil, err
	}
	m := lbr.ModuleOf(p)
	m.Number = number
	if len(m.Functions) == 0 {
		if m.Functions, err = functionStarts(file); err != nil {
			return nil, err
		}
	}
	image, err := lbr.Plan(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return image, nil
}

// functionStarts returns the start addresses of functions, ascending: from symbols and from
// the unwind table, which is still there if symbols were stripped.
func functionStarts(file *objfile.File) ([]uint64, error) {
	symbols, err := file.FunctionSymbols()
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, s := range symbols {
		out = append(out, s.Addr)
	}
	data, addr, _, ok, err := file.Section(".eh_frame")
	if err != nil {
		return nil, err
	}
	if ok {
		frames, _ := ehframe.Read(data, addr, file.Machine()) // symbols may do
		for _, f := range frames {
			out = append(out, f.Lo)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// LacksFramePointers reports whether most code of a module was compiled without frame pointers, by
// its unwind tables. Without tables it is assumed to have them.
func LacksFramePointers(path string) bool {
	rows, _, _ := objfile.UnwindTable(path, "")
	var with, without uint64
	for i := range rows[:max(0, len(rows)-1)] {
		n := rows[i+1].PC - rows[i].PC
		switch rows[i].CFA {
		case ehframe.CFAFrame, ehframe.CFAAtFrame:
			with += n
		case ehframe.CFAStack:
			without += n
		case ehframe.CFAUnknown, ehframe.CFAPLT, ehframe.CFASignal:
		}
	}
	return without > with
}
