package coverage

import (
	"strings"
	"sync"
)

// neverReturns are functions of the C and C++ libraries that return from no call.
var neverReturns = nameSet(`
	exit _exit _Exit quick_exit abort longjmp _longjmp siglongjmp __longjmp_chk pthread_exit thrd_exit
	__assert_fail __assert_perror_fail __assert __assert_rtn __stack_chk_fail __chk_fail __fortify_fail err errx verr verrx
	__cxa_throw __cxa_rethrow __cxa_bad_cast __cxa_bad_typeid __cxa_call_unexpected __cxa_pure_virtual __cxa_deleted_virtual
	__cxa_throw_bad_array_new_length _Unwind_Resume _ZSt9terminatev __clang_call_terminate
	_ZSt16__throw_bad_castv _ZSt17__throw_bad_allocv _ZSt20__throw_length_errorPKc _ZSt19__throw_logic_errorPKc
	_ZSt20__throw_out_of_rangePKc _ZSt24__throw_out_of_range_fmtPKcz _ZSt25__throw_bad_function_callv
	_ZSt24__throw_invalid_argumentPKc _ZSt20__throw_system_errori _ZSt28__throw_bad_array_new_lengthv`)

// alwaysReturns are functions of the C library that return from each call: they call nothing that a program provides,
// and throw nothing.
var alwaysReturns = nameSet(`
	memcpy memmove memset memcmp memchr memrchr mempcpy strlen strnlen strcmp strncmp strcoll strchr strrchr strchrnul strstr
	strspn strcspn strpbrk strcpy strncpy strcat strncat stpcpy strcasecmp strncasecmp strtok strtok_r strdup strndup strerror
	strtol strtoul strtoll strtoull strtod strtof strtold atoi atol atoll atof rawmemchr
	__memcpy_chk __memmove_chk __memset_chk __strcpy_chk __strncpy_chk __strcat_chk __strncat_chk __mempcpy_chk __stpcpy_chk
	toupper tolower isspace isdigit isalpha isalnum isupper islower isxdigit ispunct isprint iscntrl isgraph abs labs llabs div
	towupper towlower iswspace iswdigit iswalpha iswalnum wcslen wcscmp wcscpy wmemcpy mbstowcs wcstombs mbrtowc wcrtomb btowc
	sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log2 log10 log1p pow sqrt cbrt hypot fmod floor ceil
	round trunc rint nearbyint lround llround ldexp frexp modf copysign fabs
	sinf cosf tanf expf logf powf sqrtf fmodf floorf ceilf roundf truncf
	__errno_location __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __ctype_get_mb_cur_max
	malloc calloc realloc reallocarray free posix_memalign aligned_alloc memalign malloc_usable_size
	printf fprintf vprintf vfprintf sprintf vsprintf snprintf vsnprintf asprintf vasprintf puts fputs putchar putc fputc
	__printf_chk __fprintf_chk __vfprintf_chk __sprintf_chk __vsprintf_chk __snprintf_chk __vsnprintf_chk __asprintf_chk
	perror fwrite fread fflush fopen fopen64 fclose fseek ftell fseeko ftello rewind fgets fgetc getc ungetc getchar feof ferror
	clearerr fileno setvbuf setbuf sscanf fscanf vsscanf __isoc99_sscanf __isoc99_fscanf __isoc23_sscanf __isoc23_strtol
	__isoc23_strtoul __isoc23_strtoll __isoc23_strtoull getline remove rename tmpfile unlink
	time clock clock_gettime gettimeofday localtime localtime_r gmtime gmtime_r mktime strftime difftime
	getenv setenv unsetenv setlocale localeconv nl_langinfo rand srand random srandom rand_r
	open open64 close read write lseek lseek64 stat fstat lstat access isatty getpid getcwd sysconf
	signal sigaction sigemptyset sigaddset setjmp _setjmp __sigsetjmp
	__cxa_atexit atexit __cxa_begin_catch __cxa_allocate_exception __cxa_free_exception __cxa_guard_acquire
	__cxa_guard_release __cxa_guard_abort __cxa_get_exception_ptr __dynamic_cast
	_ZdlPv _ZdlPvm _ZdaPv _ZdaPvm _ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t
	__gcov_dump __gcov_reset`)

// nameSet returns a function that returns a set of words, which it makes at its first call: most commands need none.
func nameSet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			set[w] = true
		}
		return set
	})
}
