// Package wrap generates wrappers of functions that cannot be recompiled, for the linker option --wrap. A
// wrapper has the parameters of the wrapped function, so it needs the function's signature: from debug
// information, from a prototype that the user gives, or from the table of C library functions here. Without a
// signature, or if C cannot pass the arguments on, the wrapper is a few instructions that touch no argument.
//
// Linkers silently leave many calls unwrapped. Analyse finds such calls from the symbols that the objects of a
// link define and need.
//
// The package is pure: signatures and names in, C text and findings out.
package wrap

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// Function is a function to wrap, with its types as C text that needs no header.
type Function struct {
	Name   string // as the linker knows it
	Title  string // for readers, in comments
	Result string
	Params []string
	Before string // declarations of the types
	Source string // source of the signature
	Shim   bool   // no signature: its return address is swapped
}

// Shim returns a function whose wrapper needs no signature: it passes everything on unchanged and makes the
// function return to the runtime. why is the reason against a wrapper in C.
func Shim(name, why string) (*Function, error) {
	if !symbol().MatchString(name) {
		return nil, errors.New("its name is not supported by assemblers")
	}
	return &Function{Name: name, Title: Demangled(name), Source: "its return address: " + why, Shim: true}, nil
}

// symbol is a name that needs no quotes in assembly.
var symbol = lazyregexp.New(`^[A-Za-z_.$][\w.$]*$`)

// SplitNames splits a list of names at its commas, but not at those of the
// parameters of C++ names.
func SplitNames(list string) ([]string, error) {
	var out []string
	depth, start := 0, 0
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	for i := range len(list) {
		switch list[i] {
		case '(', '<', '[':
			depth++
		case ')', '>', ']':
			depth--
		case ',':
			if depth == 0 {
				add(list[start:i])
				start = i + 1
			}
		}
	}
	add(list[start:])
	if depth != 0 && !strings.Contains(list, "operator") {
		return nil, fmt.Errorf("%q: its brackets do not match", list)
	}
	if len(out) == 0 {
		return nil, errors.New("not a function name")
	}
	return out, nil
}

// refused returns the functions that cannot be wrapped, and why.
var refused = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for why, names := range map[string]string{
		"it returns twice, the second time into the frame of the wrapper, which no longer exists": "setjmp _setjmp __sigsetjmp sigsetjmp savectx getcontext swapcontext vfork __vfork",
		"it does not return and so has no duration":                                               "longjmp _longjmp siglongjmp __longjmp_chk setcontext exit _exit _Exit quick_exit abort __assert_fail __stack_chk_fail __libc_start_main pthread_exit thrd_exit __cxa_throw __cxa_rethrow _Unwind_Resume",
		"it uses its caller, which would be the wrapper":                                          "dlopen dlsym dlvsym dlmopen __builtin_return_address __tls_get_addr __cyg_profile_func_enter __cyg_profile_func_exit",
		"the runtime calls it":                                                     "_Unwind_Backtrace _Unwind_GetIPInfo _Unwind_GetCFA _Unwind_GetRegionStart _dl_find_object __register_atfork pthread_atfork",
		"it allocates memory in the frame of its caller":                           "alloca __builtin_alloca",
		"a wrapper of it would be called before the program's memory is relocated": "_start _init _fini __libc_csu_init",
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = why
		}
	}
	return out
})

// Refused returns why a function cannot be wrapped, or "".
func Refused(name string) string { return refused()[name] }
