/* Functions that return to the copy without a fault: those of the C, mathematical and C++ libraries
 * that programs call often. Each takes all arguments in registers, returns once, and does not
 * examine its caller. */

#include "lbr.h"

#include <dlfcn.h>
#include <string.h>

u64 lbr_leaves[LEAVES + MOST_LEAVES]; /* by their addresses; 0 ends those of one place */

static const char names[] =
    "malloc calloc realloc reallocarray free cfree memalign aligned_alloc posix_memalign valloc malloc_usable_size "
    "memcpy memmove memset memcmp memchr memrchr rawmemchr memmem mempcpy __memcpy_chk __memmove_chk __memset_chk __mempcpy_chk "
    "bcmp bcopy bzero explicit_bzero "
    "strlen strnlen strcmp strncmp strcasecmp strncasecmp strcoll strcpy strncpy stpcpy stpncpy strcat strncat strchr strrchr "
    "strchrnul strstr strcasestr strspn strcspn strpbrk strsep strtok strtok_r __strtok_r strdup strndup __strdup strerror strxfrm "
    "__strcpy_chk __strncpy_chk __stpcpy_chk __strcat_chk __strncat_chk "
    "strtol strtoul strtoll strtoull strtod strtof atoi atol atoll atof __isoc23_strtol __isoc23_strtoul __isoc23_strtoll __isoc23_strtoull "
    "wcslen wmemcpy wmemset wmemcmp wmemchr wcscmp wcsncmp wcscpy wcschr wcsrchr "
    "toupper tolower towupper towlower isalpha isdigit isalnum isspace isupper islower isprint ispunct iscntrl isgraph isxdigit "
    "iswalpha iswdigit iswalnum iswspace iswupper iswlower iswprint iswctype "
    "__ctype_b_loc __ctype_toupper_loc __ctype_tolower_loc __ctype_get_mb_cur_max __errno_location "
    "mbrtowc wcrtomb mbtowc wctomb mbsrtowcs wcsrtombs mbrlen mblen btowc wctob wcwidth wcswidth "
    "fread fwrite fgetc fputc getc putc getchar putchar _IO_getc _IO_putc ungetc fgets fputs puts fflush feof ferror clearerr fileno "
    "fread_unlocked fwrite_unlocked fgetc_unlocked fputc_unlocked getc_unlocked putc_unlocked putchar_unlocked getchar_unlocked "
    "fgets_unlocked fputs_unlocked fflush_unlocked __uflow __overflow getline getdelim __getdelim fseek fseeko ftell ftello rewind "
    "fopen fopen64 fclose fdopen read write pread pwrite pread64 pwrite64 lseek lseek64 close readv writev "
    "open open64 openat openat64 stat fstat lstat fstatat stat64 fstat64 lstat64 fstatat64 access unlink rename opendir readdir readdir64 closedir "
    "poll epoll_wait recv send recvfrom sendto accept getpid getuid gettid time clock gettimeofday clock_gettime localtime localtime_r "
    "gmtime gmtime_r mktime strftime nanosleep sched_yield getenv secure_getenv random rand srandom srand rand_r drand48 lrand48 "
    "pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock pthread_mutex_init pthread_mutex_destroy "
    "pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock "
    "pthread_spin_lock pthread_spin_unlock pthread_cond_signal pthread_cond_broadcast pthread_cond_wait pthread_cond_timedwait "
    "pthread_getspecific pthread_setspecific pthread_self pthread_equal sem_wait sem_post sem_trywait "
    "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log2 log10 log1p pow sqrt cbrt hypot fmod remainder floor ceil "
    "round trunc rint nearbyint lround llround lrint llrint frexp ldexp scalbn scalbln modf fabs fmin fmax fma copysign sincos "
    "sinf cosf tanf asinf acosf atanf atan2f sinhf coshf tanhf expf exp2f logf log2f log10f powf sqrtf cbrtf hypotf fmodf floorf ceilf roundf "
    "truncf rintf nearbyintf lroundf lrintf frexpf ldexpf scalbnf modff fabsf fminf fmaxf fmaf copysignf sincosf "
    "_Znwm _Znam _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZnwmSt11align_val_t _ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t "
    "__cxa_guard_acquire __cxa_guard_release __cxa_allocate_exception __cxa_free_exception __cxa_begin_catch __cxa_end_catch __dynamic_cast "
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base "
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ "
    "_ZSt11_Hash_bytesPKvmm _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm "
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm "
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_disposeEv _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_assignERKS4_ "
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_mutateEmmPKcm _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm "
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEm _ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEPKc "
    "_ZNSo3putEc _ZNSo5writeEPKcl _ZNSo5flushEv _ZNSolsEi _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l ";

/* known reports whether a function is in one of those libraries, rather than another function with
 * the same name. */
static int known(void *f) {
  static const char libraries[][16] = {"libc.so", "libm.so", "libstdc++.so", "libjemalloc.so", "libtcmalloc", "libmimalloc.so"};
  Dl_info info;
  if (lbr_module_at((u64)f) || !dladdr(f, &info) || !info.dli_fname) return 0;
  const char *slash = strrchr(info.dli_fname, '/'), *base = slash ? slash + 1 : info.dli_fname;
  for (u64 i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (!strncmp(base, libraries[i], strlen(libraries[i]))) return 1;
  return 0;
}

static void add(const char *name) {
  void *f = dlsym(RTLD_NEXT, name);
  u64 i = (u64)f >> 4 & (LEAVES - 1);
  if (!f || (u64)f & 15 || !known(f)) return;
  while (lbr_leaves[i] && lbr_leaves[i] != (u64)f) i++;
  lbr_leaves[i] = (u64)f;
}

void lbr_find_leaves(void) {
  char name[128];
  u64 n = 0, count = 0;
  for (const char *c = names; *c && count < MOST_LEAVES - 1; c++) {
    if (*c != ' ') {
      if (n < sizeof name - 1) name[n++] = *c;
      continue;
    }
    name[n] = 0;
    n = 0;
    count++;
    add(name);
  }
  dlerror(); /* missing ones are not errors of the program */
}
