package stacktext

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/sample"
)

// unknownName is the name of code of which not even the file is known.
const unknownName = "[unknown]"

// hexLength returns the number of hexadecimal digits at the beginning of s, without the 0x that may precede them, and
// the length of both. It is 0 where more follows than the number.
func hexLength(s []byte) (digits []byte, n int) {
	start := 0
	if len(s) > 2 && s[0] == '0' && s[1] == 'x' {
		start = 2
	}
	n = start
	for n < len(s) && isHex(s[n]) {
		n++
	}
	const most = 16
	if n == start || n-start > most || n < len(s) && s[n] != ' ' && s[n] != '\t' {
		return nil, 0
	}
	return s[start:n], n
}

func isHex(c byte) bool { return c-'0' < 10 || c-'a' < 6 || c-'A' < 6 }

// isKernelAddress reports whether an address is in the upper half of the address space, which is the kernel's on all
// 64-bit machines of perf.
func isKernelAddress(digits []byte) bool {
	const all = 16 // digits
	return len(digits) == all && bytes.HasPrefix(digits, []byte("ffff"))
}

// isContext reports whether an address is not one, but a mark that the kernel puts between parts of a stack
// (PERF_CONTEXT_USER and others), which some versions of perf print.
func isContext(digits []byte) bool {
	const all, mark = 16, "fffffffffffff"
	return len(digits) == all && bytes.HasPrefix(digits, []byte(mark))
}

// cutModule cuts " (FILE)" off the end of a frame, and what tools print after it. FILE may have parentheses itself:
// "/memfd:jit (deleted)".
func cutModule(s []byte) (name, module []byte, ok bool) {
	const most = 8 // pairs of parentheses, so that no line takes long
	for end, n := len(s), 0; end > 0 && n < most; n++ {
		last := bytes.LastIndexByte(s[:end], ')')
		if last < 0 {
			return s, nil, false
		}
		depth, open := 0, -1
		for i := last; i >= 0; i-- {
			switch s[i] {
			case ')':
				depth++
			case '(':
				depth--
			}
			if depth == 0 {
				open = i
				break
			}
		}
		if open == 0 && last+1 == len(s) { // no symbol
			return nil, s[1:last], true
		}
		if open > 0 && s[open-1] == ' ' && (last+1 == len(s) || s[last+1] == ' ') {
			return bytes.TrimRight(s[:open], " "), s[open+1 : last], true
		}
		if open < 0 {
			end = last
			continue
		}
		end = open
	}
	return s, nil, false
}

// cutOffset removes +0x1f or +31 from the end of a symbol.
func cutOffset(s []byte) []byte {
	i := bytes.LastIndexByte(s, '+')
	if i <= 0 || i+1 == len(s) {
		return s
	}
	digits := s[i+1:]
	isDigit := func(c byte) bool { return c-'0' < 10 }
	if hex, ok := bytes.CutPrefix(digits, []byte("0x")); ok && len(hex) > 0 {
		digits, isDigit = hex, isHex
	}
	for _, c := range digits {
		if !isDigit(c) {
			return s
		}
	}
	return s[:i]
}

var (
	jitFile    = lazyregexp.New(`(^|/)perf-\d+\.map$|(^|/)jitted-\d+-\d+\.so$|^\[JIT\]|^\[jit\]`)
	kernelFile = lazyregexp.New(`^\[(kernel|guest\.kernel)[^\]]*\]|(^|/)vmlinu[xz][^/]*$|\.ko(\.debug|\.[gx]z|\.zst)?$|^/proc/kcore$|^bpf_prog_`)
)

// notKernel are files in brackets that are not modules of the kernel.
var notKernel = []string{"[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack", "[anon", "[uprobes]", "[vectors]", "[sigpage]", "[jit]", "[JIT]"}

// moduleKind returns what code of a file is.
func moduleKind(module string) sample.FrameKind {
	switch {
	case jitFile().MatchString(module):
		return sample.JITFrame
	case kernelFile().MatchString(module):
		return sample.KernelFrame
	case strings.HasPrefix(module, "["):
		for _, p := range notKernel {
			if strings.HasPrefix(module, p) {
				return sample.UserFrame
			}
		}
		return sample.KernelFrame // perf prints modules as [nf_conntrack]
	}
	return sample.UserFrame
}

// moduleName returns the name of code without a symbol in a file.
func moduleName(module string) string {
	base := strings.TrimSuffix(module, " (deleted)")
	base = base[strings.LastIndexByte(base, '/')+1:]
	if strings.HasPrefix(base, "[") || base == "" {
		base = strings.Trim(module, "[]")
	}
	return "[" + base + "]"
}
