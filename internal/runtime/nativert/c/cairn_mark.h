/* cairn_mark.h - marks for cairn's spikes: cairn.h includes it.
 *
 * The verbs are those of the PET profiler (Prolog Epilog Timing). Without CAIRN_ON, which `cairn cc
 * --mode spike` defines, every macro is ((void)0) and its arguments are not evaluated. Times are
 * milliseconds. See docs/markup.md. gcc and clang, C99 and C++11 on. */
#ifndef CAIRN_MARK_H
#define CAIRN_MARK_H

#if defined(_WIN64) || defined(__arm__)
typedef unsigned long long cairn_u64; /* long has 32 bits there */
#else
typedef unsigned long cairn_u64;
#endif

/* A spike, as cairn_on_spike's callback receives it. Times are nanoseconds. */
enum { CAIRN_STACK = 32 };
struct cairn_spike {
  cairn_u64 number;               /* from 1; cairn spikes --json has it, too */
  cairn_u64 least, most;          /* bounds of its duration */
  cairn_u64 threshold;            /* threshold that applied */
  cairn_u64 end;                  /* CLOCK_MONOTONIC, on Windows the performance counter, on macOS CLOCK_UPTIME_RAW, in ns */
  cairn_u64 frame;                /* 0: none was counted */
  int tid, depth;                 /* depth: of stack */
  const void *stack[CAIRN_STACK]; /* return addresses: in the call that was slow first, then in its callers */
  char thread[64];                /* name */
  char text[1024];                /* sections, description and messages, a line each */
};

#ifdef CAIRN_ON

#if !defined _WIN32 && !defined __APPLE__
#include <pthread.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CAIRN_MAX_ARGS_ = 6, CAIRN_MAX_TEXT_ = 512 };

/* A captured argument. Strings are not copied: they must live until the scope
 * ends. */
struct cairn_arg_ {
  char kind; /* i: integer, d: double, s: string, p: pointer */
  union {
    long long i;
    double d;
    const char *s;
    const void *p;
  } v;
};

/* A scope: a function or a section that is timed. */
struct cairn_scope_ {
  cairn_u64 sp, frame; /* the runtime's */
  const char *format;
  int count;
  struct cairn_arg_ arg[CAIRN_MAX_ARGS_];
  cairn_u64 (*text)(const struct cairn_scope_ *, char *, cairn_u64);
  const void *of; /* for text */
};

#ifdef _WIN32 /* each module has the runtime's functions, and no others are found by their names */
#define CAIRN_HIDDEN_
#else
#define CAIRN_HIDDEN_ __attribute__((visibility("hidden")))
#endif
#define CAIRN_INLINE_ static inline __attribute__((always_inline, unused))
#define CAIRN_OURS_ static CAIRN_SKIP __attribute__((unused, noinline, cold))

#ifdef __cplusplus
extern "C" {
#endif
#if defined(_WIN32) && defined(__clang__) /* its __builtin_dwarf_cfa is another address there */
#if __clang_major__ < 15
void *cairn_return_at_(void) __asm__("llvm.addressofreturnaddress.p0i8");
#else
void *cairn_return_at_(void) __asm__("llvm.addressofreturnaddress.p0");
#endif
#define CAIRN_CFA_ ((cairn_u64)cairn_return_at_() + 8)
#elif defined __APPLE__ /* so it is on arm64 */
#define CAIRN_CFA_ ((cairn_u64)__builtin_frame_address(0) + 16)
#else
#define CAIRN_CFA_ ((cairn_u64)(__SIZE_TYPE__)__builtin_dwarf_cfa())
#endif
CAIRN_HIDDEN_ void __cairn_scope_begin(struct cairn_scope_ *, cairn_u64 cfa, const char *name);
CAIRN_HIDDEN_ cairn_u64 __cairn_scope_end(struct cairn_scope_ *);
CAIRN_HIDDEN_ int __cairn_scope_over(const struct cairn_scope_ *);
CAIRN_HIDDEN_ void __cairn_scope_text(const struct cairn_scope_ *, cairn_u64 number, const char *, cairn_u64);
CAIRN_HIDDEN_ void __cairn_mark(cairn_u64 cfa, unsigned verb, cairn_u64 ns);
CAIRN_HIDDEN_ void __cairn_set_threshold(cairn_u64 ns);
CAIRN_HIDDEN_ void __cairn_pause(void);
CAIRN_HIDDEN_ void __cairn_resume(void);
CAIRN_HIDDEN_ void __cairn_thread_active(int);
CAIRN_HIDDEN_ void __cairn_thread_name(const char *);
CAIRN_HIDDEN_ void __cairn_next_frame(void);
CAIRN_HIDDEN_ cairn_u64 __cairn_snapshot(cairn_u64 cfa);
CAIRN_HIDDEN_ int __cairn_on_spike(void (*)(const struct cairn_spike *));
CAIRN_HIDDEN_ void *__cairn_spike_thread(void *);
CAIRN_HIDDEN_ void __cairn_channel(const char *name, int on);
#ifdef __cplusplus
}
#endif

CAIRN_INLINE_ cairn_u64 cairn_ns_(double ms) { return ms > 0 ? (cairn_u64)(ms * 1e6) : 0; }

/* cairn_format_ writes a description from the captured arguments. Each conversion goes to snprintf
 * with its own argument; if the two types do not match, the argument's type decides. */
CAIRN_OURS_ cairn_u64 cairn_format_(const struct cairn_scope_ *s, char *to, cairn_u64 size) {
  cairn_u64 n = 0;
  int next = 0;
  const char *f = s->format;
  while (*f && n + 1 < size) {
    if (*f != '%' || f[1] == '%') {
      f += *f == '%';
      to[n++] = *f++;
      continue;
    }
    /* flags, width and precision are kept; length modifiers are replaced */
    char spec[32] = "%";
    cairn_u64 k = 1, flags = strspn(f + 1, "-+ #0123456789.");
    const char *end = f + 1 + flags;
    if (flags < 20) memcpy(spec + 1, f + 1, flags), k += flags;
    end += strspn(end, "hlLqjzt");
    if (!*end) break;
    if (next == s->count) break;
    const struct cairn_arg_ *a = &s->arg[next++];
    int m = 0;
    if (a->kind == 'i') {
      spec[k++] = 'l', spec[k++] = 'l';
      spec[k] = strchr("diuxXo", *end) ? *end : 'd';
      if (*end == 'c') m = snprintf(to + n, size - n, "%c", (int)a->v.i);
      else m = snprintf(to + n, size - n, spec, a->v.i);
    } else if (a->kind == 'd') {
      spec[k] = strchr("fFgGeEaA", *end) ? *end : 'g';
      m = snprintf(to + n, size - n, spec, a->v.d);
    } else if (a->kind == 's') {
      spec[k] = 's';
      m = snprintf(to + n, size - n, spec, a->v.s ? a->v.s : "(null)");
    } else {
      m = snprintf(to + n, size - n, "%p", a->v.p);
    }
    if (m < 0) break;
    n += (cairn_u64)m;
    f = end + 1;
  }
  return n < size ? n : size - 1;
}

/* The time of the description is not charged to callers. */
CAIRN_OURS_ void cairn_describe_(const struct cairn_scope_ *s, cairn_u64 number) {
  char text[CAIRN_MAX_TEXT_];
  __cairn_pause();
  __cairn_scope_text(s, number, text, s->text(s, text, sizeof text));
  __cairn_resume();
}

CAIRN_INLINE_ void cairn_end_(struct cairn_scope_ *s) {
  cairn_u64 number = __cairn_scope_end(s);
  if (__builtin_expect(number != 0, 0) && s->text) cairn_describe_(s, number);
}

/* If the scope is over its threshold, format and write at once. */
CAIRN_OURS_ __attribute__((format(printf, 2, 3))) void cairn_say_(const struct cairn_scope_ *s, const char *format, ...) {
  char text[CAIRN_MAX_TEXT_];
  va_list args;
  __cairn_pause();
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n > 0) __cairn_scope_text(s, 0, text, (cairn_u64)n < sizeof text ? (cairn_u64)n : sizeof text - 1);
  __cairn_resume();
}

/* Capture. */
CAIRN_INLINE_ struct cairn_arg_ cairn_int_(long long i) {
  struct cairn_arg_ a;
  a.kind = 'i', a.v.i = i;
  return a;
}
CAIRN_INLINE_ struct cairn_arg_ cairn_double_(double d) {
  struct cairn_arg_ a;
  a.kind = 'd', a.v.d = d;
  return a;
}
CAIRN_INLINE_ struct cairn_arg_ cairn_string_(const char *s) {
  struct cairn_arg_ a;
  a.kind = 's', a.v.s = s;
  return a;
}
CAIRN_INLINE_ struct cairn_arg_ cairn_pointer_(const void *p) {
  struct cairn_arg_ a;
  a.kind = 'p', a.v.p = p;
  return a;
}

CAIRN_INLINE_ void cairn_desc_(struct cairn_scope_ *s, const char *format, int count) {
  s->format = format;
  s->count = count;
  s->text = cairn_format_;
}

#define CAIRN_COUNT_(...) CAIRN_SEVENTH_(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, 0)
#define CAIRN_SEVENTH_(f, a, b, c, d, e, g, n, ...) n
#define CAIRN_GLUE_(a, b) CAIRN_GLUE2_(a, b)
#define CAIRN_GLUE2_(a, b) a##b
#define CAIRN_SET_(n, x) (cairn_scope_var_.arg[n] = CAIRN_ARG_(x))
#define CAIRN_SET0_(f) (void)0
#define CAIRN_SET1_(f, a) CAIRN_SET_(0, a)
#define CAIRN_SET2_(f, a, b) CAIRN_SET1_(f, a), CAIRN_SET_(1, b)
#define CAIRN_SET3_(f, a, b, c) CAIRN_SET2_(f, a, b), CAIRN_SET_(2, c)
#define CAIRN_SET4_(f, a, b, c, d) CAIRN_SET3_(f, a, b, c), CAIRN_SET_(3, d)
#define CAIRN_SET5_(f, a, b, c, d, e) CAIRN_SET4_(f, a, b, c, d), CAIRN_SET_(4, e)
#define CAIRN_SET6_(f, a, b, c, d, e, g) CAIRN_SET5_(f, a, b, c, d, e), CAIRN_SET_(5, g)
#define CAIRN_FIRST_(f, ...) f

#define CAIRN_DESCF(...)                                                                     \
  (CAIRN_GLUE_(CAIRN_GLUE_(CAIRN_SET, CAIRN_COUNT_(__VA_ARGS__)), _)(__VA_ARGS__),           \
   cairn_desc_(&cairn_scope_var_, CAIRN_FIRST_(__VA_ARGS__, 0), CAIRN_COUNT_(__VA_ARGS__)))
#define CAIRN_OVERTIMEF(...) \
  (__cairn_scope_over(&cairn_scope_var_) ? cairn_say_(&cairn_scope_var_, __VA_ARGS__) : (void)0)

#ifdef __cplusplus
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(bool v) { return cairn_int_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(char v) { return cairn_int_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(int v) { return cairn_int_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(unsigned v) { return cairn_int_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(long v) { return cairn_int_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(unsigned long v) { return cairn_int_((long long)v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(long long v) { return cairn_int_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(unsigned long long v) { return cairn_int_((long long)v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(double v) { return cairn_double_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(const char *v) { return cairn_string_(v); }
CAIRN_INLINE_ cairn_arg_ cairn_arg_of_(const void *v) { return cairn_pointer_(v); }
#define CAIRN_ARG_(x) cairn_arg_of_(x)

namespace cairn {

/* scope is a timed function, or a section if it has a name. */
class scope : public cairn_scope_ {
 public:
  __attribute__((always_inline)) explicit scope(const char *name = nullptr) : scope(true, name) {}
  __attribute__((always_inline)) scope(bool open, const char *name) {
    text = nullptr, sp = frame = 0;
    if (open) __cairn_scope_begin(this, CAIRN_CFA_, name);
  }
  __attribute__((always_inline)) ~scope() { cairn_end_(this); }
  scope(const scope &) = delete;
  scope &operator=(const scope &) = delete;

  /* desc registers f, which returns a string and is called if the scope is reported. f must outlive
   * the scope: declare it before the scope. */
  template <class F>
  void desc(const F &f) {
    of = &f;
    text = [](const cairn_scope_ *s, char *to, cairn_u64 size) -> cairn_u64 {
      const auto &said = (*static_cast<const F *>(s->of))();
      cairn_u64 n = said.size() < size ? said.size() : size;
      memcpy(to, said.data(), n);
      return n;
    };
  }
  template <class F>
  void desc(const F &&) = delete;
};

}  // namespace cairn

#define CAIRN_FUNCTION() cairn::scope cairn_scope_var_
#define CAIRN_FUNCTION_IF(c) cairn::scope cairn_scope_var_(static_cast<bool>(c), nullptr)
#define CAIRN_SECTION_IF(c, name)                                            \
  for (bool cairn_once_ = true; cairn_once_; cairn_once_ = false)            \
    for (cairn::scope cairn_scope_var_(static_cast<bool>(c), name); cairn_once_; cairn_once_ = false)

#else
#define CAIRN_ARG_(x)                                                                           \
  _Generic((x), char *: cairn_string_, const char *: cairn_string_, float: cairn_double_,       \
      double: cairn_double_, void *: cairn_pointer_, const void *: cairn_pointer_, default: cairn_int_)(x)

CAIRN_INLINE_ int cairn_begin_(struct cairn_scope_ *s, int open, cairn_u64 cfa, const char *name) {
  s->text = 0, s->sp = s->frame = 0;
  if (open) __cairn_scope_begin(s, cfa, name);
  return 1;
}
#define CAIRN_SCOPE_ struct cairn_scope_ cairn_scope_var_ __attribute__((cleanup(cairn_end_)))
#define CAIRN_FUNCTION() CAIRN_FUNCTION_IF(1)
#define CAIRN_FUNCTION_IF(c) \
  CAIRN_SCOPE_;              \
  cairn_begin_(&cairn_scope_var_, !!(c), CAIRN_CFA_, 0)
#define CAIRN_SECTION_IF(c, name)                                  \
  for (int cairn_once_ = 1; cairn_once_; cairn_once_ = 0)          \
    for (CAIRN_SCOPE_ = {0}; cairn_once_ && cairn_begin_(&cairn_scope_var_, !!(c), CAIRN_CFA_, name); cairn_once_ = 0)
#endif

#define CAIRN_SECTION(name) CAIRN_SECTION_IF(1, name)
#define CAIRN_VERB_(c, verb, ms) ((c) ? __cairn_mark(CAIRN_CFA_, verb, cairn_ns_(ms)) : (void)0)
#define CAIRN_THRESHOLD(ms) CAIRN_VERB_(1, 0, ms)
#define CAIRN_CHILDREN_THRESHOLD(ms) CAIRN_VERB_(1, 1, ms)
#define CAIRN_PARENTS_THRESHOLD(ms) CAIRN_VERB_(1, 2, ms)
#define CAIRN_IGNORE() CAIRN_VERB_(1, 3, 0)
#define CAIRN_IGNORE_IF(c) CAIRN_VERB_(c, 3, 0)
#define CAIRN_IGNORE_CHILDREN() CAIRN_VERB_(1, 4, 0)
#define CAIRN_IGNORE_CHILDREN_IF(c) CAIRN_VERB_(c, 4, 0)
#define CAIRN_FRAME() __cairn_next_frame()

/* A channel is a variable of the file, 1 at the start; CAIRN_CHANNEL is used at file level. The
 * runtime finds the channels of a name in their section and switches them together. */
struct cairn_channel_ {
  const char *name;
  cairn_u64 on;
};
#ifdef _WIN32 /* names of sections have 8 characters */
#define CAIRN_CHANNELS_ ".crnc"
#elif defined __APPLE__
#define CAIRN_CHANNELS_ "__DATA,__cairn_channels"
#else
#define CAIRN_CHANNELS_ "cairn_channels"
#endif
#define CAIRN_CHANNEL(name)                                                                            \
  static volatile struct cairn_channel_ cairn_channel_##name                                           \
      __attribute__((section(CAIRN_CHANNELS_), aligned(16), used)) = {#name, 1}
#define cairn_channel(name) (cairn_channel_##name.on)
#define cairn_channel_set(name, on) __cairn_channel(#name, !!(on))

/* The function is called on a separate thread, which the runtime creates on Windows and macOS. */
#if defined _WIN32 || defined __APPLE__
#define cairn_on_spike(f) ((void)__cairn_on_spike(f))
#else
CAIRN_OURS_ void cairn_on_spike_(void (*f)(const struct cairn_spike *)) {
  pthread_t thread;
  if (__cairn_on_spike(f) && !pthread_create(&thread, 0, __cairn_spike_thread, 0)) pthread_detach(thread);
}
#define cairn_on_spike(f) cairn_on_spike_(f)
#endif
#define cairn_snapshot() ((void)__cairn_snapshot(CAIRN_CFA_))

CAIRN_INLINE_ void cairn_threshold_(double ms) { __cairn_set_threshold(cairn_ns_(ms)); }
#define cairn_threshold(ms) cairn_threshold_(ms)
#define cairn_pause() __cairn_pause()
#define cairn_resume() __cairn_resume()
#define cairn_pause_if(c) ((c) ? __cairn_pause() : (void)0)
#define cairn_resume_if(c) ((c) ? __cairn_resume() : (void)0)
#define cairn_thread_active(on) __cairn_thread_active(on)
#define cairn_thread_name(name) __cairn_thread_name(name)

#else /* !CAIRN_ON */

#define CAIRN_FUNCTION() ((void)0)
#define CAIRN_FUNCTION_IF(c) ((void)0)
#define CAIRN_SECTION(name)
#define CAIRN_SECTION_IF(c, name)
#define CAIRN_DESCF(...) ((void)0)
#define CAIRN_OVERTIMEF(...) ((void)0)
#define CAIRN_THRESHOLD(ms) ((void)0)
#define CAIRN_CHILDREN_THRESHOLD(ms) ((void)0)
#define CAIRN_PARENTS_THRESHOLD(ms) ((void)0)
#define CAIRN_IGNORE() ((void)0)
#define CAIRN_IGNORE_IF(c) ((void)0)
#define CAIRN_IGNORE_CHILDREN() ((void)0)
#define CAIRN_IGNORE_CHILDREN_IF(c) ((void)0)
#define CAIRN_FRAME() ((void)0)
#define CAIRN_CHANNEL(name) struct cairn_no_channel_##name
#define cairn_channel(name) 0
#define cairn_channel_set(name, on) ((void)0)
#define cairn_on_spike(f) (0 ? (void)(f) : (void)0)
#define cairn_snapshot() ((void)0)
#define cairn_threshold(ms) ((void)0)
#define cairn_pause() ((void)0)
#define cairn_resume() ((void)0)
#define cairn_pause_if(c) ((void)0)
#define cairn_resume_if(c) ((void)0)
#define cairn_thread_active(on) ((void)0)
#define cairn_thread_name(name) ((void)0)

#ifdef __cplusplus
namespace cairn {

/* scope does nothing. */
struct scope {
  explicit scope(const char * = nullptr) {}
  scope(bool, const char *) {}
  ~scope() {}
  template <class F>
  void desc(const F &) {}
};

}  // namespace cairn
#endif

#endif /* CAIRN_ON */

/* CAIRN_WRAP(ret, name, params, args) defines a wrapper that times a function as the section
 * "name": link with -Wl,--wrap=name and cairn cc. Names of C++ functions are mangled. cairn wrap
 * generates such wrappers from debug information.
 *
 *   CAIRN_WRAP(void *, malloc, (size_t n), (n)) */
#ifdef __cplusplus
#define CAIRN_LINKAGE_ extern "C"
#else
#define CAIRN_LINKAGE_ extern
#endif
#define CAIRN_WRAP(ret, name, params, args)               \
  CAIRN_LINKAGE_ ret __real_##name params;                \
  CAIRN_LINKAGE_ ret __wrap_##name params;                \
  ret __wrap_##name params {                              \
    CAIRN_SECTION(#name) { return __real_##name args; }   \
    __builtin_unreachable();                              \
  }

#endif
