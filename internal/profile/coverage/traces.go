package coverage

import (
	"iter"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/domtree"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/prof"
)

// A compiler that knows the arguments of a call computes its result, and leaves no code of it. So code that did not
// run is no evidence of what its lines did, unless something in it leaves a trace in any copy: a store to a global
// object, or a call of a function that is not computed itself. If a function left no trace anywhere, no line ran
// from which a trace follows, or which follows one, on all ways.

// trace is an instruction that no compiler removes, in code of a function and of those into which it was inlined.
type trace struct {
	of     []Frame
	target uint64 // of a call, 0 for a store
}

// trace records that an instruction of a piece leaves a trace.
func (s *scan) trace(p *piece, in *inst, frames []Frame) {
	if in.global || in.kind == calls && s.returns.acts(s.module, in.target) {
		p.traces = append(p.traces, trace{frames, in.target})
	}
}

// leaves reports whether a piece leaves a trace of the function w.
func (o *observer) leaves(p *piece, w owner) bool {
	return slices.ContainsFunc(p.traces, func(t trace) bool {
		return !o.lostCalls[t.target] && slices.ContainsFunc(t.of, func(f Frame) bool { return f.owner() == w })
	})
}

// traced reports whether all ways through r's piece leave a trace of w.
func (o *observer) traced(r *remnant, w owner) bool {
	fl := r.flow
	if o.returns.specialised(r.module, &r.frames[0]) {
		return false
	}
	for i, seen := r.piece, map[int]bool{}; i != nowhere && !seen[i]; i = fl.after[i] {
		if seen[i] = true; o.leaves(&fl.pieces[i], w) {
			return true
		}
	}
	before := fl.dominators()
	for i := before[r.piece]; i >= 0 && i < len(fl.pieces); i = before[i] {
		if o.leaves(&fl.pieces[i], w) {
			return true
		}
	}
	return false
}

// dominators returns the immediate dominator of each piece: one without a piece is the way in.
func (fl *flow) dominators() []int {
	if fl.before != nil {
		return fl.before
	}
	n := len(fl.pieces)
	succs, preds := make([][]int, n+1), make([][]int, n+1)
	edge := func(from, to int) {
		succs[from], preds[to] = append(succs[from], to), append(preds[to], from)
	}
	for i := range fl.pieces {
		if i == 0 || len(fl.preds[i]) == 0 || fl.pieces[i-1].calling() {
			edge(n, i) // it may be entered by an exception
		}
		for _, s := range fl.pieces[i].succs {
			edge(i, s)
		}
	}
	fl.before, _ = domtree.Of(n, succs, preds)
	return fl.before
}

// acts reports whether a call of target certainly has an effect that no compiler computes, or is known to be a call in
// the code.
func (r *returning) acts(module int, target uint64) bool {
	if target == 0 {
		return false
	}
	if l := r.funcs[place{module, target}]; l != nil {
		return l.acts || l.called && l.effects
	}
	c, ok := r.modules[module].Code.(Callees)
	if !ok {
		return false
	}
	name := c.Callee(target)
	for _, p := range r.byName[name] {
		if !r.funcs[p].acts {
			return false
		}
	}
	return name != "" && !computable()[name]
}

// Inlines is implemented by Code of which it is known which functions were inlined.
type Inlines interface {
	// Inlined reports whether a compiler may have inlined a function somewhere, even if no code of it is left there.
	Inlined(f *Frame) bool
	// InlinedCalls returns the lines of the calls of a function that were inlined, 0 for one that is not known, if the
	// compiler is one that lists them; known is false if part of the code has no list.
	InlinedCalls(name string) (lines []int, known bool)
	// AllInlined returns the functions that were inlined, also those of which no code is left, as far as compilers record
	// that. Of each it has the name and the place of the definition.
	AllInlined() iter.Seq[Frame]
}

// small is a number of instructions. gcc does not record that it inlined a smaller function if nothing is left of it.
const small = 12

// called reports whether each call of the function that contains r is a call in the code: it was inlined nowhere.
func (o *observer) called(r *remnant) bool {
	if len(r.frames) == 1 && r.frames[0].Func == "main" {
		return true // only the C library calls it, of which no compiler knows
	}
	if l := o.returns.funcs[place{r.module, r.flow.entry}]; len(r.frames) == 1 && l.called && l.effects {
		return true
	}
	last := &r.frames[len(r.frames)-1]
	return last.Lists && o.quiet(last.owner())
}

// called reports whether a compiler inlined the function named symbol, whose frame is f, nowhere. A call of it in the
// source is one in the code then, if it cannot be left out for want of an effect.
func (r *returning) called(f *Frame, symbol string, fl *flow) bool {
	insts := 0
	for i := range fl.pieces {
		for k := range fl.pieces[i].insts {
			if fl.pieces[i].insts[k].kind != none {
				insts++
			}
		}
	}
	if !f.Lists && !(f.Records && !f.Late && insts >= small) {
		return false
	}
	any, bare := *f, *f // all bodies of a constructor are inlined as one
	any.Func, bare.Func = sourcefunc.OneBody(f.Func), symbol
	for i := range r.modules {
		if c, ok := r.modules[i].Code.(Inlines); ok && (c.Inlined(f) || c.Inlined(&any) || c.Inlined(&bare)) {
			return false
		}
	}
	return true
}

// effects reports whether a call of target may have an effect, so that the compiler keeps it though nobody uses its
// result.
func (r *returning) effects(module int, target uint64) bool {
	if l := r.funcs[place{module, target}]; l != nil {
		return l.effects
	}
	c, ok := r.modules[module].Code.(Callees)
	if !ok {
		return false
	}
	name := c.Callee(target)
	for _, p := range r.byName[name] {
		if !r.funcs[p].effects {
			return false
		}
	}
	return name != "" && !computable()[name]
}

// computed reports whether all calls of a function may have been computed by the compiler.
func (r *returning) computed(module int, f *prof.Func) bool {
	code := r.modules[module].Code
	if code == nil || f.Plain || code.Plain(f.Addr()) {
		return false
	}
	return !r.acts(module, f.Addr())
}

// computable are functions of the libraries whose calls compilers compute or remove.
var computable = nameSet(`
	memcpy memmove memset memcmp memchr memrchr mempcpy strlen strnlen strcmp strncmp strchr strrchr strstr strspn strcspn
	strpbrk strcpy strncpy strcat strncat stpcpy strcasecmp strncasecmp strcoll strchrnul rawmemchr bcmp
	__memcpy_chk __memmove_chk __memset_chk __strcpy_chk __strncpy_chk __strcat_chk __strncat_chk __mempcpy_chk __stpcpy_chk
	strtol strtoul strtoll strtoull strtod strtof strtold atoi atol atoll atof
	toupper tolower isspace isdigit isalpha isalnum isupper islower isxdigit ispunct isprint iscntrl isgraph abs labs llabs
	wcslen wcscmp wcscpy wmemcpy __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location
	sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log2 log10 log1p pow sqrt cbrt hypot fmod floor ceil
	round trunc rint nearbyint lround llround ldexp frexp modf copysign fabs fmin fmax
	sinf cosf tanf expf logf powf sqrtf fmodf floorf ceilf roundf truncf
	getenv ferror feof difftime pthread_self pthread_equal memmem bsearch ffs strverscmp strcasestr index rindex
	malloc calloc realloc free posix_memalign aligned_alloc strdup strndup
	sprintf snprintf __sprintf_chk __snprintf_chk
	_Znwm _Znam _ZdlPv _ZdlPvm _ZdaPv _ZdaPvm _ZnwmSt11align_val_t _ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t
	__cxa_guard_acquire __cxa_guard_release __cxa_allocate_exception __cxa_free_exception __dynamic_cast`)
