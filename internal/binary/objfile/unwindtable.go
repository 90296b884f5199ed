package objfile

import (
	"strings"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

// UnwindTable returns the unwind table of the module at a path, and its segments. It returns
// false if the file cannot be read, or has another build id than the one given, of which the
// kernel has at most 20 bytes; "" is any.
func UnwindTable(path, id string) (rows []ehframe.Row, segments []Segment, ok bool) {
	f, ok := openRegular(path)
	if !ok {
		return nil, nil, false
	}
	defer f.Close()
	if own, err := f.BuildID(); id != "" && (err != nil || !strings.HasPrefix(own.String(), id)) {
		return nil, nil, false
	}
	rows = f.unwindRows()
	// The startup code has .eh_frame also where the program has none.
	if data, _, _, ok, err := f.Section(".debug_frame"); err == nil && ok {
		more, _ := ehframe.DebugRows(data, f.Machine())
		rows = ehframe.Merge(rows, more)
	}
	return rows, f.Segments(), true
}

// unwindRows returns the rows of .eh_frame, as far as they can be read.
func (f *File) unwindRows() []ehframe.Row {
	data, addr, _, ok, err := f.Section(".eh_frame")
	if err != nil || !ok {
		return nil
	}
	rows, _ := ehframe.Rows(data, addr, f.Machine())
	return rows
}
