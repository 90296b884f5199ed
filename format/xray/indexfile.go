package xray

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/bytecur"
)

// Problem: opening a log finds its blocks, which reads the heads of all of them, and in basic logs and YAML
// every record: seconds for 10 GB, of which perhaps a millisecond will be examined.
//
// Choice: the result of Open can be stored, some ten bytes for a block of 16 KiB, and speeds up the next
// opening of the log.

// indexMagic begins the output of AppendIndex. Its number identifies the format and the result of Open: indexes
// of other versions are not used.
const indexMagic = "cairn xray index 1\n"

var errIndex = errors.New("not an index of this log")

// Flags of a part in an index.
const (
	partCut = 1 << iota
	partLost
	partTimed
	partFlags
)

// AppendIndex appends the result of Open to b, for OpenIndex. The key identifies the log.
func (l *Log) AppendIndex(b, key []byte) []byte {
	start := len(b)
	put := func(values ...uint64) {
		for _, v := range values {
			b = binary.AppendUvarint(b, v)
		}
	}
	text := func(s string) {
		put(uint64(len(s)))
		b = append(b, s...)
	}
	b = append(b, indexMagic...)
	text(string(key))
	put(uint64(l.info.Size), bit(l.text), bit(l.head.big), bit(l.head.fdr), uint64(l.head.version), l.head.hz, l.head.buffer)
	c := &l.info.Clock
	put(c.Hz, c.Claimed, c.Start, bit(c.Epoch), uint64(l.info.Duplicates))
	text(l.info.Format)
	put(uint64(len(l.info.Damage)))
	for _, d := range l.info.Damage {
		put(uint64(d.Offset), uint64(d.Size))
		text(d.What)
	}
	put(uint64(len(l.info.Notes)))
	for _, n := range l.info.Notes {
		text(n)
	}
	put(uint64(len(l.threads)))
	for i, t := range l.threads {
		put(uint64(t.PID), uint64(t.TID), uint64(len(l.parts[i])))
		var before part
		for _, p := range l.parts[i] {
			flags := bit(p.cut)*partCut | bit(p.lost)*partLost | bit(p.timed)*partTimed
			b = binary.AppendVarint(append(b, byte(flags)), p.off-before.off)
			b = binary.AppendVarint(binary.AppendUvarint(b, uint64(p.size)), int64(p.first-before.first))
			before = p
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

func bit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// OpenIndex opens a log as Open does, from what AppendIndex appended for the same key.
// Anything else is an error.
func OpenIndex(r io.ReaderAt, size int64, name string, data, key []byte) (*Log, error) {
	n := len(data) - 4
	if n < 0 || crc32.ChecksumIEEE(data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, errIndex
	}
	return readIndex(r, size, name, data[:n], key)
}

// readIndex reads what is before the checksum.
func readIndex(r io.ReaderAt, size int64, name string, data, key []byte) (*Log, error) {
	data, ok := bytes.CutPrefix(data, []byte(indexMagic))
	x := bytecur.Numbers{Data: data}
	if !ok || text(&x) != string(key) || x.Number(1<<62) != uint64(size) {
		return nil, errIndex
	}
	l := &Log{r: r, text: x.Bool(), info: calllog.Info{File: name, Size: size}}
	l.head = header{big: x.Bool(), fdr: x.Bool(), version: int(x.Number(1 << 31)), hz: x.Any(), buffer: x.Any()}
	l.info.Clock = calllog.Clock{Hz: x.Any(), Claimed: x.Any(), Start: x.Any(), Epoch: x.Bool()}
	l.info.Duplicates = int(x.Number(1 << 62))
	l.info.Format = text(&x)
	for n := x.Count(); n > 0 && !x.Bad; n-- {
		l.info.Damage = append(l.info.Damage, &calllog.Damage{File: name, Offset: int64(x.Number(1 << 62)), Size: int64(x.Number(1 << 62)), What: text(&x)})
	}
	for n := x.Count(); n > 0 && !x.Bad; n-- {
		l.info.Notes = append(l.info.Notes, text(&x))
	}
	all := int64(0)
	for n := x.Count(); n > 0 && !x.Bad; n-- {
		t := calllog.Thread{PID: uint32(x.Number(1<<32 - 1)), TID: uint32(x.Number(1<<32 - 1)), Parts: x.Count()}
		parts := readParts(&x, t.Parts, size)
		if !l.text && !l.head.good(parts) {
			return nil, errIndex
		}
		for i := range parts {
			t.Bytes += parts[i].size
		}
		if all += t.Bytes; all > size && !l.text { // no two parts have a byte in common
			return nil, errIndex
		}
		l.threads, l.parts = append(l.threads, t), append(l.parts, parts)
	}
	if x.Bad || len(x.Data) > 0 || l.head.version > lastFDR && !l.text {
		return nil, errIndex
	}
	return l, nil
}

// text reads a string.
func text(x *bytecur.Numbers) string { return string(x.Bytes(x.Number(1<<64 - 1))) }

// good reports whether parts are plausible for a log with this header: after it, and of whole records if the
// log is basic.
func (h *header) good(parts []part) bool {
	for i := range parts {
		if p := &parts[i]; p.off < headerSize || !h.fdr && p.size%basicSize != 0 {
			return false
		}
	}
	return true
}

// readParts reads the parts of a thread, which are within a file of that size.
func readParts(x *bytecur.Numbers, n int, size int64) []part {
	list := make([]part, 0, min(n, len(x.Data)/4))
	var p part
	for ; n > 0 && !x.Bad; n-- {
		flags := x.Number(partFlags - 1)
		p.off += x.Signed()
		p.size = int64(x.Number(uint64(size)))
		p.first += uint64(x.Signed())
		p.cut, p.lost, p.timed = flags&partCut != 0, flags&partLost != 0, flags&partTimed != 0
		if p.off < 0 || p.off > size-p.size || p.size == 0 {
			x.Bad, x.Data = true, nil
		}
		list = append(list, p)
	}
	return list
}
