package mip

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// A string table holds each string once, in sorted order. Mangled names of one namespace or template have
// common prefixes, so a string is written without the prefix that it shares with the one before. The length of
// such prefixes is bounded, and so is the ratio of memory to bytes in the file.

// tableOf returns the strings of m in sorted order and the place of each.
func tableOf(m *prof.Map) (table []string, index map[string]uint64) {
	index = make(map[string]uint64, len(m.Funcs))
	for i := range m.Funcs {
		f := &m.Funcs[i]
		index[f.Name], index[f.File] = 0, 0
		for k := range f.Calls {
			index[f.Calls[k].Callee] = 0
		}
	}
	table = slices.Sorted(maps.Keys(index))
	for i, s := range table {
		index[s] = uint64(i)
	}
	return table, index
}

func appendTable(b []byte, table []string) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(len(table)))
	last, total := "", 0
	for _, s := range table {
		if total += len(s); total > MaxTableBytes {
			return nil, fmt.Errorf("names of more than %d bytes", MaxTableBytes)
		}
		n := shared(last, s)
		b = append(b, byte(n))
		b = appendString(b, s[n:])
		last = s
	}
	return b, nil
}

func readTable(c *bytecur.Cursor) []string {
	n := c.Count("strings", MaxFuncs*4, 2)
	table := make([]string, 0, n)
	var last []byte
	total := 0
	for range n {
		off := c.Off()
		same := int(c.U8())
		if same > maxShared || same > len(last) {
			c.FailAt(off, "a string that shares %d bytes with one of %d", same, len(last))
		}
		rest := c.String("string", MaxName)
		if c.Err() == nil && same+len(rest) > MaxName {
			c.FailAt(off, "string of %d bytes, at most %d are allowed", same+len(rest), MaxName)
		}
		if total += same + len(rest); total > MaxTableBytes {
			c.FailAt(off, "strings of more than %d bytes", MaxTableBytes)
		}
		if c.Err() != nil {
			return nil
		}
		last = append(last[:same], rest...)
		table = append(table, string(last))
	}
	return table
}

// shared returns how many bytes a and b start alike, up to maxShared.
func shared(a, b string) int {
	n := 0
	for n < maxShared && n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
