package objfile

import (
	"strings"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

// Unwinding is the unwind table of a module.
type Unwinding struct {
	Rows     []ehframe.Row  // of .eh_frame and .debug_frame, nil if there is no .debug_frame
	EHFrame  *ehframe.Table // of .eh_frame alone
	Segments []Segment
}

// UnwindTable returns the unwind table of the module at a path, and its segments. It returns
// false if the file cannot be read, or has another build id than the one given, of which the
// kernel has at most 20 bytes; "" is any.
func UnwindTable(path, id string) (rows []ehframe.Row, segments []Segment, ok bool) {
	u, ok := ReadUnwinding(path, id, nil)
	if u.Rows == nil {
		u.Rows = u.EHFrame.Rows()
	}
	return u.Rows, u.Segments, ok
}

// ReadUnwinding is UnwindTable for a module whose .eh_frame may have been read already: it is ehFrame, nil if it must be read.
func ReadUnwinding(path, id string, ehFrame *ehframe.Table) (u Unwinding, ok bool) {
	f, ok := openRegular(path)
	if !ok {
		return u, false
	}
	defer f.Close()
	if own, err := f.BuildID(); id != "" && (err != nil || !strings.HasPrefix(own.String(), id)) {
		return u, false
	}
	f.ehFrame = ehFrame
	u.EHFrame, u.Segments = f.unwindTable(), f.Segments()
	// The startup code has .eh_frame also where the program has none.
	if data, _, _, ok, err := f.Section(".debug_frame"); err == nil && ok {
		more, _ := ehframe.DebugRows(data, f.Machine())
		u.Rows = ehframe.Merge(u.EHFrame.Rows(), more)
	}
	return u, true
}

// SetEHFrame sets the table of .eh_frame, as Unwinding has it, so that it is not read again.
func (f *File) SetEHFrame(t *ehframe.Table) { f.ehFrame = t }

// unwindTable returns the table of .eh_frame, nil if there is none.
func (f *File) unwindTable() *ehframe.Table {
	if f.ehFrame != nil {
		return f.ehFrame
	}
	data, addr, _, ok, err := f.Section(".eh_frame")
	if err != nil || !ok {
		return nil
	}
	return ehframe.NewTable(data, addr, f.Machine())
}
