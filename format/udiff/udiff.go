// Package udiff reads which lines of new files a unified diff adds or changes. It is pure.
//
// The format is that of GNU diff -u (https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html),
// with the file headers of git (https://git-scm.com/docs/diff-format). Of each file it has
//
//	--- a/old.c
//	+++ b/new.c
//	@@ -3,2 +3,3 @@ optional text
//	 an unchanged line
//	-a removed line
//	+an added line
//
// In a hunk header are the first line and the number of lines of the old and the new file; a number of
// 1 may be missing. Names with characters that are not printable are quoted as in C; a time stamp may follow a
// name, after a tab. The new name is /dev/null if the file is removed.
package udiff

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Range is a range of lines of the new file, both ends included.
type Range struct{ From, To int }

// File is a file and its new and changed lines.
type File struct {
	Name  string // without git's b/
	Lines []Range
}

// maxLine bounds a line of a diff, and maxNumber a line number in it.
const (
	maxLine   = 16 << 20
	maxNumber = 1 << 30
)

// Read reads a diff. Text between files, such as a commit message, is skipped.
func Read(r io.Reader) ([]File, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	x := &reader{}
	n := 0
	for in.Scan() {
		n++
		if err := x.line(in.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d bytes", n+1, maxLine)
	case err != nil:
		return nil, err
	case x.old > 0 || x.new > 0:
		return nil, fmt.Errorf("line %d: the diff ends within a hunk", n)
	}
	return x.files, nil
}

// reader reads the lines of a diff.
type reader struct {
	files    []File
	file     *File // nil for a removed one
	from     bool  // the line before began with ---
	old, new int   // lines that are left of the hunk
	at       int   // the next line of the new file
}

func (x *reader) line(text string) error {
	if x.old > 0 || x.new > 0 {
		return x.body(text)
	}
	from := x.from
	x.from = strings.HasPrefix(text, "--- ")
	switch {
	case from && strings.HasPrefix(text, "+++ "):
		return x.name(text[len("+++ "):])
	case strings.HasPrefix(text, "diff "):
		x.file = nil
	case strings.HasPrefix(text, "@@ -") && len(x.files) > 0:
		return x.hunk(text)
	}
	return nil
}

// name begins a file.
func (x *reader) name(text string) error {
	text = strings.TrimSuffix(text, "\r")
	if strings.HasPrefix(text, `"`) {
		name, err := unquote(text)
		if err != nil {
			return fmt.Errorf("file name %s: %w", text, err)
		}
		text = name
	} else {
		text, _, _ = strings.Cut(text, "\t")
	}
	x.file = nil
	if text == "/dev/null" {
		return nil
	}
	x.files = append(x.files, File{Name: strings.TrimPrefix(text, "b/")})
	x.file = &x.files[len(x.files)-1]
	return nil
}

// unquote returns the name that git writes as a string of C.
func unquote(text string) (string, error) {
	var b strings.Builder
	rest := text[1:]
	for rest != "" && rest[0] != '"' {
		if rest[0] != '\\' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		c, _, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			return "", errors.New("not a quoted name")
		}
		b.WriteByte(byte(c)) // git escapes bytes
		rest = tail
	}
	if rest == "" {
		return "", errors.New("not a quoted name")
	}
	return b.String(), nil
}

// hunk begins a hunk.
func (x *reader) hunk(text string) error {
	spec, _, ok := strings.Cut(text[len("@@ "):], " @@")
	a, b, two := strings.Cut(spec, " ")
	if !ok || !two || !strings.HasPrefix(a, "-") || !strings.HasPrefix(b, "+") {
		return fmt.Errorf("hunk header %.80q", text)
	}
	var err error
	if _, x.old, err = span(a[1:]); err != nil {
		return fmt.Errorf("hunk header %.80q: %w", text, err)
	}
	if x.at, x.new, err = span(b[1:]); err != nil {
		x.old = 0
		return fmt.Errorf("hunk header %.80q: %w", text, err)
	}
	return nil
}

// span parses FIRST,COUNT or FIRST.
func span(text string) (first, count int, err error) {
	a, b, ok := strings.Cut(text, ",")
	count = 1
	if first, err = number(a); err == nil && ok {
		count, err = number(b)
	}
	return first, count, err
}

func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > maxNumber {
		return 0, fmt.Errorf("%q is not a line number", text)
	}
	return int(n), nil
}

// body takes a line of a hunk.
func (x *reader) body(text string) error {
	kind := byte(' ')
	if text != "" { // some tools strip the space of an empty line
		kind = text[0]
	}
	switch {
	case kind == '\\': // no newline at the end of the file
	case kind == '-' && x.old > 0:
		x.old--
	case kind == '+' && x.new > 0:
		x.add()
		x.new, x.at = x.new-1, x.at+1
	case (kind == ' ' || kind == '\r') && x.old > 0 && x.new > 0:
		x.old, x.new, x.at = x.old-1, x.new-1, x.at+1
	default:
		return fmt.Errorf("%.80q does not belong to the hunk", text)
	}
	return nil
}

// add adds the current line to the file.
func (x *reader) add() {
	if x.file == nil {
		return
	}
	lines := x.file.Lines
	if k := len(lines) - 1; k >= 0 && lines[k].To+1 == x.at {
		lines[k].To = x.at
		return
	}
	x.file.Lines = append(lines, Range{x.at, x.at})
}
