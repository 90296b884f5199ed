// Package kallsyms reads /proc/kallsyms, in which Linux lists the symbols of the running kernel and of its modules:
//
//	ffffffff81000000 T _text
//	ffffffffc0001000 t nf_hook	[nf_tables]
//
// Addresses are 0 for users that must not see them (sysctl kernel.kptr_restrict).
package kallsyms

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Table has the functions of a kernel.
type Table struct {
	symbols []symbol // ascending
}

type symbol struct {
	addr uint64
	name string
}

const (
	maxLine    = 1 << 16 // bytes
	maxSymbols = 1 << 22
)

// ErrHidden is the error for a list whose addresses are hidden from this user.
var ErrHidden = errors.New("the addresses of the kernel are hidden: sysctl kernel.kptr_restrict=0, or become root")

// Read reads the list. Functions of modules are left out: modules may have been loaded anew at other addresses.
func Read(r io.Reader) (*Table, error) {
	var t Table
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Text()
		addr, rest, ok1 := strings.Cut(line, " ")
		kind, name, ok2 := strings.Cut(rest, " ")
		v, err := strconv.ParseUint(addr, 16, 64)
		if !ok1 || !ok2 || err != nil || len(kind) != 1 || name == "" {
			return nil, fmt.Errorf("line %d is not a symbol of the kernel", n)
		}
		if !strings.Contains("tTwW", kind) || strings.ContainsRune(name, '\t') || v == 0 {
			continue
		}
		if len(t.symbols) >= maxSymbols {
			return nil, fmt.Errorf("there are more than %d symbols", maxSymbols)
		}
		t.symbols = append(t.symbols, symbol{v, name})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if n > 0 && len(t.symbols) == 0 {
		return nil, ErrHidden
	}
	stablesort.Func(t.symbols, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	return &t, nil
}

// Address returns the address of a function, 0 if there is none of that name.
func (t *Table) Address(name string) uint64 {
	for _, s := range t.symbols {
		if s.name == name {
			return s.addr
		}
	}
	return 0
}

// Name returns the function at an address, "" if there is none. Of several names of one address it is the last in the
// list, which is that of the function, after those of the section.
func (t *Table) Name(addr uint64) string {
	i, found := slices.BinarySearchFunc(t.symbols, addr, func(s symbol, addr uint64) int { return cmp.Compare(s.addr, addr) })
	if found {
		for i+1 < len(t.symbols) && t.symbols[i+1].addr == addr {
			i++
		}
	} else {
		i--
	}
	const longest = 1 << 20 // bytes of a function: what is after the last one is none
	if i < 0 || addr-t.symbols[i].addr > longest {
		return ""
	}
	return t.symbols[i].name
}
