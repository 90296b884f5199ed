package logfile

// Map maps up to size bytes of a plain file at an offset, a multiple of the page size, into memory, which must not be changed.
// It returns nil if they cannot be mapped: they can be read then. If somebody cuts the file off, reading from the memory is a
// fault, see Guard.
func (f *File) Map(offset int64, size int) []byte {
	if f.file == nil {
		return nil
	}
	st, err := f.file.Stat()
	if err != nil || offset >= st.Size() {
		return nil
	}
	size = int(min(int64(size), st.Size()-offset))
	return populate(f.file.Fd(), offset, size)
}
