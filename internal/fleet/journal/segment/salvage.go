package segment

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/report"
)

// Damage is a part of a segment without whole records.
type Damage struct {
	File       string
	Off, Bytes int64
	Lost       uint64 // records that were there; 0 where it is not known
	Tail       bool   // no record follows: it may be one that was being written when the process died
	Aside      string // file with a copy of the bytes, "" if it could not be written
	Err        error  // why not
}

// String describes a damage in a line.
func (d *Damage) String() string {
	text := fmt.Sprintf("%s: at offset %#x: %d bytes are damaged", d.File, d.Off, d.Bytes)
	switch {
	case d.Tail:
		text += ", the end of the journal: a record that was being written, or a damaged one"
	case d.Lost > 0:
		text += ", " + report.Plural(int(d.Lost), "record")
	}
	return text
}

const asideSuffix = ".damaged"

// setAside copies the bytes of a damage into a file beside the segment, unless it is there already.
func (d *Damage) setAside(f *os.File) {
	if d.Bytes == 0 {
		return
	}
	path := fmt.Sprintf("%s.%d%s", d.File, d.Off, asideSuffix)
	if st, err := os.Stat(path); err == nil && st.Size() >= d.Bytes {
		d.Aside = path
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".aside-*")
	if err != nil {
		d.Err = err
		return
	}
	_, err = io.Copy(tmp, io.NewSectionReader(f, d.Off, d.Bytes))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		d.Err = errors.Join(err, os.Remove(tmp.Name()))
		return
	}
	d.Aside = path
}

// walker reads the records of a segment one after the other, and passes damaged parts.
type walker struct {
	id   id
	file *os.File
	off  int64
	seq  uint64 // number of the record that is expected at off
}

// next returns the next whole record in the first size bytes. damage describes what was passed
// before it, nil if nothing. At the end it returns io.EOF, with what was passed before that.
func (w *walker) next(size int64) (seq uint64, data []byte, damage *Damage, err error) {
	h, data, err := w.id.readRecord(w.file, w.off, size)
	if err == nil && h.seq < w.seq { // a copy of an earlier one, which no journal writes
		err = errDamaged
	}
	if errors.Is(err, errDamaged) {
		at, err := w.id.findRecord(w.file, w.off+1, size, w.seq)
		if err != nil {
			return 0, nil, nil, err
		}
		damage = &Damage{File: w.file.Name(), Off: w.off, Bytes: at - w.off}
		w.off = at
		if at == size {
			return 0, nil, damage, io.EOF
		}
		if h, data, err = w.id.readRecord(w.file, at, size); err != nil {
			return 0, nil, damage, err
		}
		damage.Lost = h.seq - w.seq
	} else if err != nil {
		return 0, nil, nil, err
	} else if h.seq > w.seq { // some were cut out
		damage = &Damage{File: w.file.Name(), Off: w.off, Lost: h.seq - w.seq}
	}
	w.off += recordHead + h.size
	w.seq = h.seq + 1
	return h.seq, data, damage, nil
}

// walked is what walk found in a segment.
type walked struct {
	end     int64  // of its last whole record
	next    uint64 // number of the record after that
	records uint64 // whole ones
}

// walk reads all records of a segment, and calls damaged for each damaged part. last says that no segment follows.
func (s id) walk(f *os.File, last bool, damaged func(*Damage)) (seg walked, err error) {
	st, err := f.Stat()
	if err != nil {
		return seg, err
	}
	w := walker{id: s, file: f, off: headerSize, seq: s.first}
	for {
		seg.end, seg.next = w.off, w.seq
		_, _, damage, err := w.next(max(st.Size(), headerSize))
		if damage != nil {
			damage.Tail = last && err == io.EOF
			damaged(damage)
		}
		if err == io.EOF {
			return seg, nil
		}
		if err != nil {
			return seg, err
		}
		seg.records++
	}
}

// Content is what Verify found in a journal.
type Content struct {
	Segments    int
	First, Last uint64 // numbers of records
	Records     uint64 // whole ones
}

// Verify reads a journal that no process has open, changes nothing, and calls found for each damaged part.
func Verify(dir string, found func(Damage)) (c Content, err error) {
	ids, err := list(dir)
	if err != nil || len(ids) == 0 {
		return c, err
	}
	c.Segments, c.First = len(ids), ids[0].first
	next := ids[0].first
	for i, s := range ids {
		path := filepath.Join(dir, s.fileName())
		if s.first > next {
			found(Damage{File: path, Lost: s.first - next})
		}
		f, err := os.Open(path)
		if err != nil {
			return c, err
		}
		seg, err := s.walk(f, i == len(ids)-1, func(d *Damage) { found(*d) })
		if err := errors.Join(err, f.Close()); err != nil {
			return c, err
		}
		next = seg.next
		c.Records += seg.records
	}
	c.Last = next - 1
	return c, nil
}
