package split

import (
	"bytes"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: a call of a function in a shared library goes to a stub of the linker's, which jumps to the address that the dynamic
// linker found: two jumps, and a line of the cache for four stubs.
//
// Choice: calls of the libraries of C and C++ that ran often take the address themselves, as -fno-plt has all calls do:
// call *f@GOTPCREL(%rip). Where the function is in the program after all, linkers make that a direct call again.
//
// Cost: a byte for each call, and the dynamic linker looks the function up when the program starts, and not when it is first
// called. A program that lacks it does not start then, so that functions of other libraries keep their stubs: a plug-in may
// be loaded where they are not. Programs that watch stubs, such as ltrace, do not see these calls.

// directShare is the part of all that the program executed that a call must be. It is small: what ran in the recording is looked up in
// most runs anyway, and the word costs less than the stub.
const directShare = 1 << 20

// isLibrary reports whether a function that the program does not have is of the libraries of C and C++. Of the first only those
// count that are short, or can be: the stub is little beside others.
func isLibrary(name string) bool {
	for _, prefix := range []string{"_ZSt", "_ZNSt", "_ZNKSt", "_ZNSs", "_ZNKSs", "_ZNSo", "_ZNSi", "_Znw", "_Zna", "_Zdl", "_Zda", "__cxa_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return shortCalls()[name]
}

var shortCalls = sync.OnceValue(func() map[string]bool {
	const names = `memchr memcmp memcpy memmove mempcpy memrchr memset bcmp rawmemchr strcat strchr strchrnul strcmp strcpy stpcpy strcspn strdup strlen
strncat strncmp strncpy strnlen strpbrk strrchr strspn strstr strcasecmp strncasecmp strcoll strtok strtok_r
malloc calloc realloc free posix_memalign aligned_alloc qsort bsearch abs labs rand random strtod strtol strtoll strtoul strtoull atoi atol
isalnum isalpha isdigit islower isspace isupper tolower toupper __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location
fputc putc putchar fgetc getc getchar ungetc fputs puts fgets fread fwrite fflush ferror feof
_setjmp setjmp __sigsetjmp longjmp _longjmp clock_gettime gettimeofday time
acos asin atan atan2 cbrt ceil cos cosh exp exp2 expm1 fabs floor fma fmod frexp hypot ldexp llrint llround log log10 log1p log2 lrint lround modf
nearbyint pow rint round scalbn sin sincos sinh sqrt tan tanh trunc
acosf asinf atanf atan2f cbrtf ceilf cosf expf exp2f fabsf floorf fmaf fmodf hypotf ldexpf logf log10f log2f lrintf lroundf modff powf rintf roundf
sinf sincosf sqrtf tanf truncf
pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock pthread_self pthread_getspecific pthread_spin_lock pthread_spin_unlock
__memcpy_chk __memmove_chk __memset_chk __strcpy_chk __strcat_chk __dynamic_cast`
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
})

// callDirectly replaces the calls through stubs that ran often. flow is that of all blocks of fn.
func (s *splitter) callDirectly(fn *asm.Function, flow *Flow) {
	first := 0 // block of the fragment
	for _, f := range fn.Frags {
		for i := range f.Lines {
			l := &f.Lines[i]
			if l.App || l.Block < 0 || flow.Times[first+int(l.Block)] <= s.opts.Executed/directShare {
				continue
			}
			st := asm.ParseLine(bytes.TrimRight(s.unit.Src[l.At:l.Next], "\r\n"))
			name, ok := throughStub(st)
			if line := s.text.lineAt(int(l.At)); ok && line >= 0 && isLibrary(name) && !s.symbols[name] && !s.opts.Inside(name) {
				s.replaced[line] = []byte("\t" + strings.TrimSuffix(string(st.Word), "q") + "\t*" + name + "@GOTPCREL(%rip)\n")
				s.result.Direct++
			}
		}
		first += len(f.Blocks)
	}
}

// throughStub returns the function that an instruction calls, or jumps to, through a stub: f of call f@PLT.
func throughStub(s asm.Statement) (name string, ok bool) {
	switch string(s.Word) {
	case "call", "callq", "jmp", "jmpq":
		op, ok := bytes.CutSuffix(asm.Operand(s.Rest), []byte("@PLT"))
		return string(op), ok
	}
	return "", false
}
