// Package goruntime has the text that is added to package runtime of instrumented Go
// programs: the file of the records, and what probes call. It uses internal names of the
// Go release, so there is a variant for each minor version that it was tested with.
package goruntime

import (
	_ "embed"
	"fmt"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

//go:embed files/linux.txt
var linux string

// Target is what a program is built by and for.
type Target struct {
	Version  string // as go1.26.8
	GOOS     string
	GOARCH   string
	Compiler string // gc
}

// minors are the minor versions of Go 1 with the import of raw system calls in each.
var minors = map[int]string{
	25: `linux "internal/runtime/syscall"`,
	26: `"internal/runtime/syscall/linux"`,
}

// calls are the numbers of system calls.
var calls = map[string]string{
	"amd64": "cairnSysOpenat=257 cairnSysClose=3 cairnSysMkdirat=258 cairnSysRenameat2=316 cairnSysLinkat=265 cairnSysUnlinkat=263 cairnSysMmap=9 cairnSysGetpid=39 cairnSysReadlinkat=267 cairnSysGetrandom=318 cairnSysFallocate=285 cairnSysPwrite64=18 cairnSysPrlimit64=302",
	"arm64": "cairnSysOpenat=56 cairnSysClose=57 cairnSysMkdirat=34 cairnSysRenameat2=276 cairnSysLinkat=37 cairnSysUnlinkat=35 cairnSysMmap=222 cairnSysGetpid=172 cairnSysReadlinkat=78 cairnSysGetrandom=278 cairnSysFallocate=47 cairnSysPwrite64=68 cairnSysPrlimit64=261",
}

// Check returns why programs of a target cannot be instrumented, nil if they can.
func (t Target) Check() error {
	m, ok := t.minor()
	if !ok || minors[m] == "" {
		return fmt.Errorf("%s: this cairn instruments programs of Go 1.25 and 1.26; choose one by GOTOOLCHAIN, as GOTOOLCHAIN=go1.26.8", t.Version)
	}
	if t.GOOS != "linux" || calls[t.GOARCH] == "" {
		return fmt.Errorf("%s/%s: Go programs are instrumented for linux/amd64 and linux/arm64", t.GOOS, t.GOARCH)
	}
	return nil
}

func (t Target) minor() (int, bool) {
	rest, ok := strings.CutPrefix(t.Version, "go1.")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.Atoi(rest[:end])
	// Of release candidates and development versions nothing was tested.
	tail := rest[end:]
	return n, err == nil && (tail == "" || tail[0] == '.' || tail[0] == '-' || tail[0] == ' ')
}

// File returns the text of the file for a target that Check accepts.
func File(t Target) []byte {
	m, _ := t.minor()
	text := strings.Replace(linux, "SYSCALL", minors[m], 1)
	var b strings.Builder
	b.WriteString(text)
	b.WriteString("\nconst (\n")
	for _, c := range strings.Fields(calls[t.GOARCH]) {
		b.WriteString("\t" + strings.Replace(c, "=", " = ", 1) + "\n")
	}
	b.WriteString(")\n")
	return []byte(b.String())
}

// EditedFile is the file of package runtime that gets the call of the start.
const EditedFile = "proc.go"

// Start returns the text of proc.go with the call behind that of checkfds in schedinit, on
// the same line: the environment is known then, and no code of users has run.
func Start(name string, src []byte) ([]byte, error) {
	at, err := findCall(src, "checkfds")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := fmt.Appendf(nil, "//line %s:1:1\n", name)
	return slices.Concat(out, src[:at], []byte("; cairnStart()"), src[at:]), nil
}

// findCall returns the offset behind the only statement name() in src.
func findCall(src []byte, name string) (int, error) {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	found, state := -1, 0
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF && found < 0:
			return 0, fmt.Errorf("no call of %s, which this release of Go should have", name)
		case tok == token.EOF:
			return found, nil
		case tok == token.IDENT && lit == name:
			state = 1
		case state == 1 && tok == token.LPAREN:
			state = 2
		case state == 2 && tok == token.RPAREN:
			if found >= 0 {
				return 0, fmt.Errorf("more than one call of %s", name)
			}
			found, state = file.Offset(pos)+1, 0
		default:
			state = 0
		}
	}
}
