package toolchain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// arWriter writes an archive in the format of GNU ar, which System V's ABI describes ("Archive File"). The index and the
// table of names are before the members: plan sees all members first, then begin and member write them.
//
// ar itself cannot make the index of Rust's standard library: its objects have a part for the linker's plugin, which is
// asked for their symbols and finds none.
type arWriter struct {
	to      io.Writer
	err     error // the first
	names   bytes.Buffer
	at      map[string]int // offsets of names in the table
	sizes   []int64
	symbols [][]string // by member
	next    int
}

const arHeaderSize = 60

// plan takes note of a member.
func (w *arWriter) plan(name string, body *io.SectionReader) error {
	if w.at == nil {
		w.at = map[string]int{}
	}
	if _, ok := w.at[name]; !ok {
		w.at[name] = w.names.Len()
		w.names.WriteString(name + "/\n")
	}
	w.sizes = append(w.sizes, body.Size())
	w.symbols = append(w.symbols, objfile.Exports(body))
	return nil
}

// begin writes what is before the members.
func (w *arWriter) begin() error {
	var index, strings bytes.Buffer
	count := 0
	for _, names := range w.symbols {
		count += len(names)
		for _, name := range names {
			strings.WriteString(name + "\x00")
		}
	}
	padded := func(n int64) int64 { return n + n%2 }
	size := int64(4 + 4*count + strings.Len())
	offset := 8 + arHeaderSize + padded(size) + arHeaderSize + padded(int64(w.names.Len()))
	index.Write(binary.BigEndian.AppendUint32(nil, uint32(count)))
	for i, names := range w.symbols {
		if offset > math.MaxUint32 {
			return errors.New("the archive is larger than 4 GB")
		}
		for range names {
			index.Write(binary.BigEndian.AppendUint32(nil, uint32(offset)))
		}
		offset += arHeaderSize + padded(w.sizes[i])
	}
	index.Write(strings.Bytes())
	w.text("!<arch>\n")
	w.write("/", &index, size)
	w.write("//", &w.names, int64(w.names.Len()))
	return w.err
}

// member writes the next member.
func (w *arWriter) member(name string, body *io.SectionReader) error {
	if w.next == len(w.sizes) || w.sizes[w.next] != body.Size() {
		return errors.New("it changed while it was read")
	}
	w.next++
	w.write(fmt.Sprintf("/%d", w.at[name]), body, body.Size())
	return w.err
}

func (w *arWriter) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, s)
	}
}

// write writes size bytes behind a header.
func (w *arWriter) write(name string, r io.Reader, size int64) {
	w.text(fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, 0, 0, 0, "644", size))
	if w.err == nil {
		_, w.err = io.CopyN(w.to, r, size)
	}
	if size%2 == 1 {
		w.text("\n")
	}
}
