// Package procmaps reads /proc/PID/maps, in which Linux lists what a process has in memory:
//
//	55d07a3c2000-55d07a3c5000 r-xp 00001000 fe:00 10178606        /usr/bin/cat
//	|            |            |||| |        |     |               |
//	Lo           Hi           |||p Offset   |     Inode           Name
//	                          ||x  in the   Device
//	                          |w   file
//	                          r
//
// as fs/proc/task_mmu.c prints it. Numbers are hexadecimal, except the inode. The last letter
// is s if writes are shared with other processes. A name is a path, which " (deleted)" may
// follow, or describes another kind of mapping, such as [heap]. A newline in a name is written
// \012; nothing else is escaped. An anonymous mapping has no name and no inode.
package procmaps

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
)

// Mapping is a line.
type Mapping struct {
	Lo, Hi            uint64 // [Lo, Hi)
	Read, Write, Exec bool
	Offset            uint64 // in the file, of Lo
	Device            string // two numbers with a colon
	Inode             uint64
	Name              string // as it is written
}

// Has reports whether an address is in the mapping.
func (m *Mapping) Has(addr uint64) bool { return m.Lo <= addr && addr < m.Hi }

// IsFile reports whether the mapping is of a file: whether its name is a path.
func (m *Mapping) IsFile() bool { return m.Name != "" && m.Name[0] == '/' }

// All returns the mappings of a text in order. Invalid lines are yielded as errors, and reading continues after
// them.
func All(text []byte) iter.Seq2[Mapping, error] {
	return func(yield func(Mapping, error) bool) {
		for line := range bytes.Lines(text) {
			if !yield(Parse(line)) {
				return
			}
		}
	}
}

// Read returns all mappings of a text.
func Read(text []byte) (out []Mapping, err error) {
	for m, err := range All(text) {
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Parse reads a line, with or without its end.
func Parse(line []byte) (m Mapping, err error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	rest := line
	field := func(end byte) []byte {
		at := bytes.IndexByte(rest, end)
		if at < 0 {
			at = len(rest)
		}
		f := rest[:at]
		rest = rest[min(at+1, len(rest)):]
		return f
	}
	number := func(f []byte, base int) uint64 {
		n, e := strconv.ParseUint(string(f), base, 64)
		if e != nil {
			err = e
		}
		return n
	}
	m.Lo = number(field('-'), 16)
	m.Hi = number(field(' '), 16)
	rights := field(' ')
	m.Offset = number(field(' '), 16)
	m.Device = string(field(' '))
	m.Inode = number(field(' '), 10)
	m.Name = string(bytes.TrimLeft(rest, " "))
	if err != nil || len(rights) != len("rwxp") || m.Hi < m.Lo || m.Device == "" {
		return Mapping{}, fmt.Errorf("%q is not a line of /proc/PID/maps", line)
	}
	m.Read, m.Write, m.Exec = rights[0] == 'r', rights[1] == 'w', rights[2] == 'x'
	return m, nil
}
