package asm

import (
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/sourcename"
)

// lineEntry is a .loc directive: the number of a file and a line of it.
type lineEntry struct{ File, Line int32 }

// sourceFiles are the names of files in .file directives, by number.
type sourceFiles map[int32][2]string // directory and name

// debugLine handles .file with a number, and .loc, and those of CodeView.
func (p *Parser) debugLine(s Statement, next int) {
	switch string(s.Word) {
	case ".cv_loc": // the number of a function first
		_, rest, _ := leadingNumber(s.Rest)
		p.debugLine(Statement{s.Kind, []byte(".loc"), rest}, next)
	case ".cv_file":
		n, rest, _ := leadingNumber(s.Rest)
		name, _ := quotedWord(rest) // a checksum follows
		p.debugLine(Statement{s.Kind, []byte(".file"), fmt.Appendf(nil, "%d %q", n, name)}, next)
	case ".loc":
		f := p.Sec.Cur
		if f == nil {
			return
		}
		file, rest, ok := leadingNumber(s.Rest)
		line, _, ok2 := leadingNumber(rest)
		switch {
		case !ok || !ok2:
		case line > 0:
			f.Locs = append(f.Locs, lineEntry{file, line})
		default:
			p.Unit.Lineless = append(p.Unit.Lineless, next)
		}
	case ".file":
		n, rest, ok := leadingNumber(s.Rest)
		if !ok {
			return
		}
		if p.Unit.Files == nil {
			p.Unit.Files = sourceFiles{}
		}
		first, rest := quotedWord(rest)
		if second, _ := quotedWord(rest); second != "" {
			p.Unit.Files[n] = [2]string{first, second}
		} else {
			p.Unit.Files[n] = [2]string{"", first}
		}
	}
}

// leadingNumber returns the decimal number that rest begins with, and what follows it.
func leadingNumber(rest []byte) (n int32, after []byte, ok bool) {
	i := 0
	for i < len(rest) && (rest[i] == ' ' || rest[i] == '\t') {
		i++
	}
	start, v := i, int64(0)
	for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' && v < 1<<31 {
		v = 10*v + int64(rest[i]-'0')
		i++
	}
	return int32(v), rest[i:], i > start && v < 1<<31
}

// quotedWord returns the string in quotes that rest begins with, and what follows it; "" if there is none.
func quotedWord(rest []byte) (word string, after []byte) {
	i := 0
	for i < len(rest) && (rest[i] == ' ' || rest[i] == '\t') {
		i++
	}
	if i == len(rest) || rest[i] != '"' {
		return "", rest[i:]
	}
	word = quotedString(rest[i:])
	for i++; i < len(rest) && rest[i] != '"'; i++ {
		if rest[i] == '\\' {
			i++
		}
	}
	return word, rest[min(i+1, len(rest)):]
}

// Path returns the path of a file, as readers of the line table do (DWARF 5, section 6.2.4): below the directory
// of the compilation, which file 0 has, or else dir.
func (files sourceFiles) Path(n int32, dir string) string {
	if zero, ok := files[0]; ok {
		dir = zero[0]
	}
	file, ok := files[n]
	if !ok || file[1] == "" {
		return ""
	}
	return sourcename.Join(dir, file[0], file[1])
}

// HasLineless reports whether a unit has code without a line.
func (u *Unit) HasLineless() bool { return len(u.Lineless) > 0 }
