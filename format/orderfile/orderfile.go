// Package orderfile reads the dumps of programs that clang 9 to 20 built with
// -forder-file-instrumentation: the order of first calls of functions.
//
// A dump (PROFILE.order, written by __llvm_orderfile_dump) is an array of
// little-endian 64-bit hashes, one for each function in the order of first
// calls, with zeros after the last. The runtime's buffer holds 131072 of them,
// but its writer takes the number of elements for a number of 32-bit words, so
// that a dump is 524288 bytes and holds the first 65536 functions only.
//
//	fa d5 8d e7 36 64 95 db   0xdb956436e78dd5fa, main
//	a0 f8 48 94 2c e8 63 cf   0xcf63e82c9448f8a0, setup
//	00 00 00 00 00 00 00 00   the end
//
// A hash is the low half of the MD5 of the function's symbol name: local
// functions of one name share it, and it occurs once for each that ran.
//
// A mapping (-mllvm -orderfile-write-mapping=FILE) has a line for each function
// of each file compiled, appended as the compiler went:
//
//	MD5 db956436e78dd5fa main
//
// The number is hexadecimal without leading zeros. A mapping that got lost can
// be made again from the names in the binary's symbol table.
//
// Source: llvm/lib/Transforms/Instrumentation/InstrOrderFile.cpp and
// compiler-rt/lib/profile/InstrProfilingFile.c of LLVM 14 and 19.
package orderfile

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// DumpSize is the size in bytes of the dumps of clang 9 to 20.
	DumpSize = 131072 * 4
	// MaxDumpSize is the size in bytes of the whole buffer.
	MaxDumpSize = 131072 * 8
)

// Hash returns the number that stands for a function in a dump.
func Hash(symbol string) uint64 {
	sum := md5.Sum([]byte(symbol))
	return binary.LittleEndian.Uint64(sum[:])
}

// Dump is the order in which a run first called its functions.
type Dump struct {
	Hashes []uint64 // as they stand in the file
	// Full is set if the file has no room left: functions may be missing at
	// the end.
	Full bool
}

// ReadDump reads a dump. A zero among the hashes is a function whose thread had not stored it yet, and is left
// out.
func ReadDump(data []byte) (*Dump, error) {
	switch {
	case len(data)%8 != 0:
		return nil, fmt.Errorf("damaged order-file dump: %d bytes are not a multiple of 8", len(data))
	case len(data) > MaxDumpSize:
		return nil, fmt.Errorf("not an order-file dump: %d bytes, the largest have %d", len(data), MaxDumpSize)
	}
	end := len(bytes.TrimRight(data, "\x00"))
	end = (end + 7) / 8 * 8
	if end == 0 {
		return nil, errors.New("the order-file dump is empty: no instrumented function ran (full LTO instruments none)")
	}
	d := &Dump{Full: end == len(data) && len(data) >= DumpSize}
	for i := 0; i < end; i += 8 {
		if h := binary.LittleEndian.Uint64(data[i:]); h != 0 {
			d.Hashes = append(d.Hashes, h)
		}
	}
	return d, nil
}

// Names are symbol names by hash.
type Names map[uint64]string

// Add adds the hashes of a symbol name. The compiler hashes a name with the
// byte 1 in front if the source gave the symbol's spelling (asm("name")).
func (n Names) Add(symbol string) {
	n[Hash(symbol)] = symbol
	n[Hash("\x01"+symbol)] = symbol
}

// ReadMapping reads the mappings of one or more programs.
func ReadMapping(data []byte) (Names, error) {
	names := make(Names)
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text = strings.TrimRight(text, "\r\n")
		if text == "" {
			continue
		}
		rest, ok := strings.CutPrefix(text, "MD5 ")
		number, name, ok2 := strings.Cut(rest, " ")
		if !ok || !ok2 || name == "" {
			return nil, fmt.Errorf("line %d: %.40q is not of the form MD5 HASH NAME", line, text)
		}
		hash, err := strconv.ParseUint(number, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %.40q is not a hash of 64 bits", line, number)
		}
		if want := Hash(name); hash != want {
			return nil, fmt.Errorf("line %d: the hash of %.60q is %x, not %x", line, name, want, hash)
		}
		names[hash] = strings.TrimPrefix(name, "\x01")
	}
	return names, nil
}

// Resolve returns the names of the functions in d, in its order, and how many
// have none.
func (d *Dump) Resolve(names Names) (symbols []string, unknown int) {
	for _, h := range d.Hashes {
		if name, ok := names[h]; ok {
			symbols = append(symbols, name)
		} else {
			unknown++
		}
	}
	return symbols, unknown
}
