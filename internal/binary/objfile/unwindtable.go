package objfile

import (
	"strings"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

// Unwinding is the unwind table of a module.
type Unwinding struct {
	Rows     []ehframe.Row // of .eh_frame and .debug_frame
	EHFrame  []ehframe.Row // of .eh_frame alone
	Segments []Segment
}

// UnwindTable returns the unwind table of the module at a path, and its segments. It returns
// false if the file cannot be read, or has another build id than the one given, of which the
// kernel has at most 20 bytes; "" is any.
func UnwindTable(path, id string) (rows []ehframe.Row, segments []Segment, ok bool) {
	u, ok := ReadUnwinding(path, id, nil)
	return u.Rows, u.Segments, ok
}

// ReadUnwinding is UnwindTable for a module whose .eh_frame may have been read already; its rows
// are ehFrame, nil if they must be read.
func ReadUnwinding(path, id string, ehFrame []ehframe.Row) (u Unwinding, ok bool) {
	f, ok := openRegular(path)
	if !ok {
		return u, false
	}
	defer f.Close()
	if own, err := f.BuildID(); id != "" && (err != nil || !strings.HasPrefix(own.String(), id)) {
		return u, false
	}
	f.ehFrame = ehFrame
	u.EHFrame = f.unwindRows()
	u.Rows, u.Segments = u.EHFrame, f.Segments()
	// The startup code has .eh_frame also where the program has none.
	if data, _, _, ok, err := f.Section(".debug_frame"); err == nil && ok {
		more, _ := ehframe.DebugRows(data, f.Machine())
		u.Rows = ehframe.Merge(u.EHFrame, more)
	}
	return u, true
}

// SetEHFrame sets the rows of .eh_frame, as Unwinding has them, so that it is not read again.
func (f *File) SetEHFrame(rows []ehframe.Row) { f.ehFrame = rows }

// unwindRows returns the rows of .eh_frame, as far as they can be read.
func (f *File) unwindRows() []ehframe.Row {
	if f.ehFrame != nil {
		return f.ehFrame
	}
	data, addr, _, ok, err := f.Section(".eh_frame")
	if err != nil || !ok {
		return nil
	}
	rows, _ := ehframe.Rows(data, addr, f.Machine())
	return rows
}
