package perfdatatest

import (
	"io"
	"maps"
	"math/bits"
	"slices"
)

const attrSize = 128

// attr returns a perf_event_attr.
func (w *Writer) attr(e *Event) []byte {
	b := w.u32(w.u32(nil, uint32(e.Kind)), attrSize)
	b = w.u64(b, e.Config, 1000, e.SampleType, e.ReadFormat)
	const flags = 1<<8 | 1<<9 | 1<<18 // mmap, comm; sample_id_all
	all := flags | e.Flags
	if w.Big { // bit fields begin at the other end of each byte
		all = bits.Reverse64(all)
	}
	b = w.u64(b, all)
	b = append(b, make([]byte, 24)...)
	b = w.u64(b, e.BranchType, e.Regs)
	return append(b, make([]byte, attrSize-len(b))...)
}

// sized adds a string with its length.
func (w *Writer) sized(b []byte, s string) []byte {
	t := text(nil, s)
	return append(w.u32(b, uint32(len(t))), t...)
}

// features returns the features of the file by their numbers.
func (w *Writer) features() map[int][]byte {
	f := map[int][]byte{}
	maps.Copy(f, w.Features)
	if len(w.Command) > 0 {
		b := w.u32(nil, uint32(len(w.Command)))
		for _, word := range w.Command {
			b = w.sized(b, word)
		}
		f[11] = b
	}
	if len(w.BuildIDs) > 0 {
		var b []byte
		for _, path := range slices.Sorted(maps.Keys(w.BuildIDs)) {
			id := w.BuildIDs[path]
			body := w.u32(nil, ^uint32(0))
			body = append(append(body, id[:]...), 20, 0, 0, 0)
			body = text(body, path)
			sub := Writer{Big: w.Big}
			sub.Record(0, 1<<15|2, body)
			b = append(b, sub.data...)
		}
		f[2] = b
	}
	b := w.u32(w.u32(nil, uint32(len(w.Events))), attrSize)
	for i := range w.Events {
		e := &w.Events[i]
		b = append(b, w.attr(e)...)
		b = w.sized(w.u32(b, 1), e.Name)
		b = w.u64(b, e.ID)
	}
	f[12] = b
	if len(w.pieces) > 0 && !w.Pipe {
		f[auxTrace] = w.traceIndex(0)
	}
	return f
}

// auxTrace is the feature that lists the records with pieces of traces.
const auxTrace = 18

func (w *Writer) traceIndex(data uint64) []byte {
	const recordSize = 48
	b := w.u64(nil, uint64(len(w.pieces)))
	for _, at := range w.pieces {
		b = w.u64(b, data+at, recordSize)
	}
	return b
}

// WriteTo writes the file.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	file := []byte("PERFILE2")
	if w.Big {
		file = []byte("2ELIFREP")
	}
	if w.Pipe {
		file = w.pipe(w.u64(file, 16))
	} else {
		file = w.file(file)
	}
	n, err := out.Write(file)
	return int64(n), err
}

func (w *Writer) pipe(file []byte) []byte {
	sub := Writer{Big: w.Big}
	for i := range w.Events {
		sub.Record(64, 0, w.u64(w.attr(&w.Events[i]), w.Events[i].ID))
	}
	f := w.features()
	for _, number := range slices.Sorted(maps.Keys(f)) {
		sub.Record(80, 0, append(w.u64(nil, uint64(number)), f[number]...))
	}
	return append(append(file, sub.data...), w.data...)
}

func (w *Writer) file(file []byte) []byte {
	const header, entry = 104, attrSize + 16
	ids := uint64(header)
	attrs := ids + 8*uint64(len(w.Events))
	data := attrs + entry*uint64(len(w.Events))
	f := w.features()
	var set [4]uint64
	for number := range f {
		set[number/64] |= 1 << (number % 64)
	}
	file = w.u64(file, header, entry, attrs, data-attrs, data, uint64(len(w.data)), 0, 0)
	file = w.u64(file, set[:]...)
	for i := range w.Events {
		file = w.u64(file, w.Events[i].ID)
	}
	for i := range w.Events {
		file = append(file, w.attr(&w.Events[i])...)
		file = w.u64(file, ids+8*uint64(i), 8)
	}
	file = append(file, w.data...)
	if _, ok := f[auxTrace]; ok { // the offset of the data is known only now
		f[auxTrace] = w.traceIndex(data)
	}
	at := data + uint64(len(w.data)) + 16*uint64(len(f))
	numbers := slices.Sorted(maps.Keys(f))
	for _, number := range numbers {
		file = w.u64(file, at, uint64(len(f[number])))
		at += uint64(len(f[number]))
	}
	for _, number := range numbers {
		file = append(file, f[number]...)
	}
	return file
}
