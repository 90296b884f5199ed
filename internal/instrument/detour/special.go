package detour

import (
	"slices"
	"strings"
)

// intimate are the beginnings of names of functions that use their own return address: exception handling that
// is linked into a program, and thunks against speculation.
var intimate = []string{
	"_Unwind_", "uw_", "unw_", "__unw_", "_ULx86_64_", "_Ux86_64_", "__gxx_personality_", "__gcc_personality_",
	"__cxa_throw", "__cxa_rethrow", "__cxa_begin_catch", "__cxa_end_catch",
	"__x86_indirect_thunk_", "__x86_return_thunk", "__llvm_retpoline_",
}

// twice are functions that save their return address, or return elsewhere.
var twice = []string{
	"setjmp", "_setjmp", "__setjmp", "sigsetjmp", "__sigsetjmp", "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk",
	"vfork", "__vfork", "getcontext", "setcontext", "swapcontext", "makecontext", "savectx",
	"backtrace", "__mcount_internal", "mcount", "_mcount", "__fentry__",
	"__cyg_profile_func_enter", "__cyg_profile_func_exit",
}

// raising are functions that leave calls without an exception.
var raising = []string{"longjmp", "_longjmp", "__longjmp_chk", "siglongjmp", "__intrinsic_longjmp"}

// Raises reports whether a function of this name leaves calls without an exception. In programs for Windows it is hooked, to note
// which calls these may be.
func Raises(name string) bool { return slices.Contains(raising, name) }

func (s *scan) raises(f *function) bool {
	return s.module.Referenced && f.Unwind != nil && Raises(f.Name)
}

// special returns why a function of this name is never hooked, or "".
func special(name string) Reason {
	name, _, _ = strings.Cut(name, "@")
	if slices.Contains(twice, name) {
		return Twice
	}
	for _, prefix := range intimate {
		if strings.HasPrefix(name, prefix) {
			return Intimate
		}
	}
	// The part of f that the compiler moved out is f.cold or f.cold.1.
	if base, rest, ok := strings.Cut(name, ".cold"); ok && base != "" && strings.Trim(rest, ".0123456789") == "" {
		return NotCalled
	}
	return ""
}
