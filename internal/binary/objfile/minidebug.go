package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// Fedora and its relatives put the symbols of functions that are not exported into the section
// .gnu_debugdata of stripped modules: a module of its own, compressed by xz ("MiniDebugInfo" in
// the documentation of GDB).

// Bounds of the section: the symbols of the largest programs have some ten megabytes, and xz's
// strongest level has a dictionary of 64.
const (
	maxMiniDebug = 256 << 20
	maxXZDict    = 64 << 20
)

// miniDebug returns the functions in .gnu_debugdata, none if there is no such section.
func (f *File) miniDebug() ([]TableSymbol, error) {
	packed, _, _, ok, err := f.Section(".gnu_debugdata")
	if err != nil || !ok || len(packed) == 0 {
		return nil, err
	}
	data, err := unpackXZ(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: .gnu_debugdata: %w", f.path, err)
	}
	mini, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: .gnu_debugdata: %w", f.path, err)
	}
	all, err := mini.Symbols()
	if err != nil {
		return nil, fmt.Errorf("%s: .gnu_debugdata: %w", f.path, err)
	}
	var out []TableSymbol
	for _, s := range all {
		// Its sections are not those of the module: some were removed.
		if at := f.sectionAt(s.Value); elf.ST_TYPE(s.Info) == elf.STT_FUNC && at > 0 {
			out = append(out, TableSymbol{Symbol{s.Name, s.Value, s.Size}, true, at})
		}
	}
	return out, nil
}

// unpackXZ unpacks the first block of xz data, which has all of it unless several threads packed
// it. Readers of the whole format take a dictionary of any size that the data asks for.
//
//	fd "7zXZ" 00 | flags | crc | block header: size/4-1, flags, [sizes], 21 01 dictionary | data in LZMA2
//
// (The .xz file format 1.2.1, tukaani.org/xz/xz-file-format.txt)
func unpackXZ(packed []byte) ([]byte, error) {
	const streamHeader, filters, packedSize, size, lzma2 = 12, 3, 0x40, 0x80, 0x21
	errFormat := errors.New("not xz data of the usual kind")
	if len(packed) < streamHeader+8 || !bytes.HasPrefix(packed, []byte("\xfd7zXZ\x00")) {
		return nil, errFormat
	}
	block := packed[streamHeader:]
	header := 4 * (int(block[0]) + 1)
	if block[0] == 0 || header > len(block) || block[1]&filters != 0 {
		return nil, errFormat
	}
	fields := block[2:header]
	for _, flag := range []byte{packedSize, size} {
		if block[1]&flag != 0 {
			_, n := binary.Uvarint(fields)
			if n <= 0 {
				return nil, errFormat
			}
			fields = fields[n:]
		}
	}
	if len(fields) < 3 || fields[0] != lzma2 || fields[1] != 1 {
		return nil, errFormat
	}
	dict, err := lzma.DecodeDictCap(fields[2])
	if err != nil || dict > maxXZDict {
		return nil, fmt.Errorf("its dictionary has %d bytes, at most %d are supported", dict, maxXZDict)
	}
	in, err := lzma.Reader2Config{DictCap: int(max(dict, lzma.MinDictCap))}.NewReader2(bytes.NewReader(block[header:]))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxMiniDebug+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0:
		return nil, io.ErrUnexpectedEOF
	case len(data) > maxMiniDebug:
		return nil, fmt.Errorf("it has more than %d bytes", maxMiniDebug)
	}
	return data, nil
}
