package timing

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/prof"
)

// What waits.go does for Linux: calls of functions that only wait are calls in the log. They are called by the word that has the
// address of a function of a DLL, so that the function in between has such a word too:
//
//	__cairn_wait_Sleep:
//	        subq    $104, %rsp
//	        movq    144(%rsp), %rax
//	        movq    %rax, 32(%rsp)
//	        ...
//	        call    *__imp_Sleep(%rip)
//	        addq    $104, %rsp
//	        ret
//
// A program may have a function of its own by such a name, with any arguments: of those on the stack eight words are copied. What of
// these are no arguments is in the callers' frames, of which there are at least those that begin a thread.

// coffWait matches what calls name: a function of a DLL, or one that is linked in.
var coffWait = lazyregexp.New(`^\*?(?:__imp_(\w+)\(%rip\)|((?:pthread_|thrd_|cnd_|sem_|_ZNSt|nanosleep|usleep)\w*))$`)

// waitIn returns the function that only waits that an instruction names, and whether it is one of a DLL.
func waitIn(s *asm.Statement) (name string, imports bool) {
	operand, _, _ := bytes.Cut(s.Rest, []byte("#"))
	if strings.HasPrefix(string(s.Word), "mov") {
		operand, _, _ = bytes.Cut(operand, []byte(","))
	} else if !calls()[string(s.Word)] && string(s.Word) != "rex.W" {
		return "", false
	}
	operand = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(operand), []byte("jmp")))
	m := coffWait().FindSubmatch(bytes.TrimSpace(operand))
	if m == nil || len(m[2]) > 0 && strings.HasPrefix(string(s.Word), "mov") {
		return "", false
	}
	name = string(m[1]) + string(m[2])
	if tracelog.WaitsOnWindows(name) == "" {
		return "", false
	}
	return name, len(m[1]) > 0
}

// withCOFFWaits returns the unit in which calls of functions that wait are calls in the log.
func withCOFFWaits(u *asm.Unit, mode prof.Mode) *asm.Unit {
	if u.Object != asm.COFF || mode == prof.ModeSpike {
		return u
	}
	own := map[string]bool{} // what others call by these names is another function
	for _, fn := range u.Funcs {
		own[fn.Name] = true
	}
	used := map[string]string{} // function -> how it is called
	var out []byte
	for line := range bytes.Lines(u.Src) {
		if s := asm.ParseLine(bytes.TrimRight(line, "\r\n")); s.Kind == asm.LineInsn {
			if name, imports := waitIn(&s); name != "" && (imports || !own[name]) {
				call := name
				if imports {
					call = "*" + imported + name + "(%rip)"
				}
				used[name] = call
				line = bytes.Replace(line, []byte(name), []byte(tracelog.WaitSymbol+name), 1)
			}
		}
		out = append(out, line...)
	}
	if len(used) == 0 {
		return u
	}
	clang := bytes.Contains(u.Src, []byte(" -- Begin function"))
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out = append(out, coffWaitFunction(name, used[name], clang)...)
	}
	changed, err := asm.ParseOptions{Object: u.Object, Plain: u.Plain}.Parse(out, u.Kind, u.Machine)
	if err != nil {
		return u
	}
	return changed
}

// The text of the function that calls one that waits, and of the word that has its address, of which a program has one each: as
// GNU as and as clang have it.
const (
	coffWaitGNU = `	.section	.text$NAME,"x"
	.linkonce discard
	.globl	NAME
	.p2align	4
	.def	NAME;	.scl	2;	.type	32;	.endef
	.seh_proc	NAME
NAME:
` + coffWaitBody + `	.section	.rdata$__imp_NAME,"dr"
	.linkonce discard
` + coffWaitWord
	coffWaitClang = `	.section	.text,"xr",discard,NAME
	.globl	NAME
	.p2align	4
	.def	NAME;	.scl	2;	.type	32;	.endef
NAME:
	.seh_proc	NAME
` + coffWaitBody + `	.section	.rdata,"dr",discard,__imp_NAME
` + coffWaitWord
	coffWaitBody = `	subq	$104, %rsp
	.seh_stackalloc	104
	.seh_endprologue
COPIES	call	CALL
	addq	$104, %rsp
	ret
	.seh_endproc
`
	coffWaitWord = `	.globl	__imp_NAME
	.balign	8
__imp_NAME:
	.quad	NAME
	.text
`
)

// coffWaitFunction returns that text.
func coffWaitFunction(name, call string, clang bool) string {
	text := coffWaitGNU
	if clang {
		text = coffWaitClang
	}
	copies := ""
	for at := 32; at < 96; at += 8 {
		copies += fmt.Sprintf("\tmovq\t%d(%%rsp), %%rax\n\tmovq\t%%rax, %d(%%rsp)\n", at+112, at)
	}
	return strings.NewReplacer("NAME", tracelog.WaitSymbol+name, "COPIES", copies, "CALL", call).Replace(text)
}
