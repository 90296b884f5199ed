package goruntime

import (
	"fmt"
	"go/scanner"
	"go/token"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// edit inserts text before or after each occurrence of some tokens in package runtime.
type edit struct {
	file   string
	find   string // tokens
	before string
	behind string
	once   bool // the tokens must occur exactly once
}

// start makes the runtime map the records, or open the log: the environment is known then,
// and no user code has run.
var start = edit{"proc.go", "checkfds()", "", "; cairnStart()", true}

// acquire makes the runtime report that a thread has a processor. A thread of C that calls Go
// can get one together with the structure for threads that it borrows.
var acquire = []edit{
	{"proc.go", "func wirep(pp *p) {", "", " cairnAcquired(pp);", true},
	{"cgocall.go", "gp.m.isExtraInC = false", "", "; cairnAcquired(gp.m.p.ptr())", true},
}

// timed makes the runtime report which goroutines run, and when the process ends.
var timed = []edit{
	start,
	{"proc.go", "newm(sysmon, nil, -1)", "", "; cairnThread()", true},
	{"proc.go", "casgstatus(gp, _Grunning, _Gwaiting)", "cairnStopped(gp, true); ", "", false},
	{"proc.go", "casgstatus(gp, _Grunning, _Grunnable)", "cairnStopped(gp, false); ", "", false},
	{"proc.go", "casgstatus(gp, _Gwaiting, _Grunnable)", "cairnReady(gp); ", "", false},
	{"proc.go", "casgstatus(gp, _Grunnable, _Grunning)", "", "; cairnRuns(gp)", true},
	{"proc.go", "newg.gopc = callerpc", "", "; cairnCreated(newg, callergp)", true},
	{"proc.go", "casgstatus(gp, _Grunning, _Gdead)", "cairnEnded(gp); ", "", false},
	{"proc.go", "f := *(*func())(unsafe.Pointer(&p)) f()", "c := cairnInit(p); ", "; cairnInitDone(c)", true},
	{"proc.go", "func wirep(pp *p) {", "", " cairnAwake();", true},
	{"proc.go", "func reentersyscall(pc, sp, bp uintptr) {", "", " getg().cairn.system = cairnWord;", true},
	{"proc.go", "func entersyscallblock() {", "", " getg().cairn.system = cairnWord;", true},
	{"proc.go", "func exitsyscall() {", "", " if cairnAwake(); getg().cairn.system != cairnWord { systemstack(cairnReturned) };", true},
	{"proc.go", "exithook.Run(code)", "", "; cairnFinish()", true},
	{"proc.go", "func startTheWorldWithSema(now int64, w worldStop) int64 {", "", " cairnWorld = cairnWord;", true},
	{"panic.go", "func fatalthrow(t throwType) {", "", " systemstack(cairnFinish);", true},
	{"panic.go", "func fatalpanic(msgs *_panic) {", "", " systemstack(cairnFinish);", true},
	{"panic.go", "gp.sched.sp = sp gp.sched.pc = gotoPc", "cairnLeft(gp, sp); ", "", true},
	{"panic.go", "goexit1()", "cairnExits(sys.GetCallerPC(), sys.GetCallerSP()); ", "", true},
	{"netpoll.go", "func netpollblock(pd *pollDesc, mode int32, waitio bool) bool {", "", " getg().cairn.fd = uint64(pd.fd) + 1;", true},
	{"runtime2.go", "ncgocall uint64", "", "; cairn cairnM", true},
	{"runtime2.go", "gcAssistBytes int64", "", "; cairn cairnG", true},
}

// timedUnix and timedWindows make the runtime report that a signal ends the process, or its console.
var (
	timedUnix    = edit{"signal_unix.go", "func dieFromSignal(sig uint32) {", "", " cairnFinish();", true}
	timedWindows = edit{"os_windows.go", "if sigsend(s) {", "cairnControl(s); ", "", true}
)

// copied makes a runtime that cannot map a file over the records copy them, by a thread and when the process ends.
var copied = []edit{
	{"proc.go", "newm(sysmon, nil, -1)", "", "; cairnThread()", true},
	{"os_windows.go", "lock(&suspendLock) atomic.Store(&exiting, 1)", "cairnExit(); ", "", true},
}

func (t Target) edits(mode prof.Mode) []edit {
	list := []edit{start}
	switch {
	case mode.Timed() && t.GOOS == "windows":
		return append(slices.Clip(timed), timedWindows)
	case mode.Timed():
		return append(slices.Clip(timed), timedUnix)
	case mode == prof.ModeCount:
		list = append(list, acquire...)
	}
	if t.GOOS == "windows" {
		list = append(list, copied...)
	}
	return list
}

// Edited returns the names of the files of package runtime that a mode edits.
func (t Target) Edited(mode prof.Mode) (names []string) {
	for _, e := range t.edits(mode) {
		if !slices.Contains(names, e.file) {
			names = append(names, e.file)
		}
	}
	return names
}

// Edit returns the text of a file of package runtime with the insertions of a mode, which add
// no lines. base is the file's name, and path is its name in line directives.
func (t Target) Edit(mode prof.Mode, base, path string, src []byte) ([]byte, error) {
	type insertion struct {
		at   int
		text string
	}
	tokens := scan(src)
	var list []insertion
	for _, e := range t.edits(mode) {
		if e.file != base {
			continue
		}
		want, found := scan([]byte(e.find)), 0
		for i := range tokens {
			if !startsWith(tokens[i:], want) {
				continue
			}
			found++
			last := tokens[i+len(want)-1]
			list = append(list, insertion{tokens[i].at, e.before}, insertion{last.at + len(last.text), e.behind})
		}
		if found == 0 || e.once && found > 1 {
			return nil, fmt.Errorf("%s: %q occurs %d times in this release of Go: it cannot be instrumented", path, e.find, found)
		}
	}
	stablesort.Func(list, func(a, b insertion) int { return a.at - b.at })
	out := fmt.Appendf(nil, "//line %s:1:1\n", path)
	last := 0
	for _, in := range list {
		out = append(append(out, src[last:in.at]...), in.text...)
		last = in.at
	}
	return append(out, src[last:]...), nil
}

// word is a token and where it is.
type word struct {
	text string
	at   int
}

func startsWith(tokens, want []word) bool {
	return len(tokens) >= len(want) && slices.EqualFunc(tokens[:len(want)], want, func(a, b word) bool { return a.text == b.text })
}

// scan returns the tokens of a text, without the semicolons inserted at ends of lines.
func scan(src []byte) (words []word) {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return words
		case tok == token.SEMICOLON && text == "\n":
			continue
		case tok.IsOperator():
			text = tok.String()
		}
		words = append(words, word{text, file.Offset(pos)})
	}
}
