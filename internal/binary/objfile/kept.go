package objfile

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// The map of a program is in sections that strip and install -s remove. So what links programs keeps a copy of them in a
// directory, in a file with the build id as its name: address and size of the records and the checksum of the code (three
// u64, little-endian), by which programs with one build id differ, then each of keptSections (its size, LEB128, and its
// contents), all compressed by zlib.

var keptSections = []string{wire.MapSection, wire.OldMapSection, wire.UnitSection}

// keptDir returns the directory, nil for none.
var keptDir func() (string, error)

// SetKept makes the directory that dir returns one in which sections are searched that strip removes. It must be called
// before files are opened.
func SetKept(dir func() (string, error)) { keptDir = dir }

// KeptMap returns the name and the contents of the file that keeps the map of a module; data is nil if there is no map.
func (f *File) KeptMap() (name string, data []byte, err error) {
	head, id := f.keptHead()
	if head == nil {
		return "", nil, nil
	}
	found, all := false, head
	for _, section := range keptSections {
		data, _, _, _, err := f.Section(section)
		if err != nil {
			return "", nil, err
		}
		found = found || len(data) > 0
		all = append(binary.AppendUvarint(all, uint64(len(data))), data...)
	}
	if !found {
		return "", nil, nil
	}
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(all); err != nil {
		return "", nil, err
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	return id, b.Bytes(), nil
}

// keptHead returns the beginning of the file that keeps a module's map, and its name; nil if the module has no records of
// its own.
func (f *File) keptHead() (head []byte, name string) {
	_, addr, size, ok, err := f.Section(wire.RawSection)
	if !ok || err != nil || f.Relocatable() || f.elf.identity == machOIdentity {
		return nil, ""
	}
	id, err := f.BuildID()
	if err != nil {
		return nil, ""
	}
	code, err := f.section(".text")
	if err != nil {
		return nil, ""
	}
	for _, n := range []uint64{addr, size, uint64(crc32.ChecksumIEEE(code))} {
		head = binary.LittleEndian.AppendUint64(head, n)
	}
	return head, id.String()
}

// keptSection returns a section of the module's map from the directory, nil if it is not there.
func (f *File) keptSection(name string) []byte {
	head, id := f.keptHead()
	if head == nil || keptDir == nil {
		return nil
	}
	dir, err := keptDir()
	if err != nil {
		return nil
	}
	file, err := os.Open(filepath.Join(dir, id))
	if err != nil {
		return nil
	}
	defer file.Close()
	r, err := zlib.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(r, maxKept+1))
	if err != nil || len(data) > maxKept || !bytes.HasPrefix(data, head) {
		return nil
	}
	data = data[len(head):]
	for _, section := range keptSections {
		n, used := binary.Uvarint(data)
		if used <= 0 || n > uint64(len(data)-used) {
			return nil
		}
		if section == name {
			return data[used : uint64(used)+n : uint64(used)+n]
		}
		data = data[uint64(used)+n:]
	}
	return nil
}
