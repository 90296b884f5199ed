/* System calls of rt.c, and text. */

/* gcc duplicates code to save a jump, even at -Os, and some passes make this code larger: those of
 * which gcc 12 makes less without them. */
#if !__clang__
#pragma GCC optimize("no-thread-jumps", "no-inline-functions-called-once", "no-gcse", "no-move-loop-invariants")
#pragma GCC optimize("no-caller-saves", "no-tree-loop-optimize", "no-partial-inlining", "no-ssa-phiopt", "no-tree-tail-merge")
#pragma GCC optimize("no-guess-branch-probability", "no-tree-ccp", "no-shrink-wrap", "no-tree-dominator-opts")
#endif

#include "sys.h"

#define WEAK __attribute__((weak))

enum { SIGBUS = 7, SA_SIGINFO = 4, SA_ONSTACK = 0x08000000, SA_RESTART = 0x10000000 };
enum { PR_GET_DUMPABLE = 3, RLIMIT_FSIZE = 1 };

static sword map(void *at, uword size, i32 flags, sword fd, uword offset) {
  return sys6(SYS_mmap, (sword)at, (sword)size, PROT_RW, flags, fd, (sword)MMAP_OFFSET(offset));
}

struct kernel_sigaction {
  uword handler, flags, restorer, mask[8 / sizeof(uword)];
};
DEFINE_RESTORER(restorer, ".Lcairn_restorer");

/* handler_of returns the handler of a signal, or -1 if there is no such signal. */
static __attribute__((noinline)) uword handler_of(u32 sig) {
  struct kernel_sigaction a;
  return sys4(SYS_rt_sigaction, sig, 0, (long)&a, 8) < 0 ? -1UL : a.handler;
}

static __attribute__((noinline)) void set_handler(u32 sig, uword handler, uword flags) {
  struct kernel_sigaction a = {handler, flags, (uword)restorer, {0}};
  sys4(SYS_rt_sigaction, sig, (long)&a, 0, 8);
}

/* handle installs a handler for a signal, unless the program or another module has one. Signal 0 is
 * ignored. */
static u32 handle(u32 sig, void *handler, uword flags) {
  if (handler_of(sig)) return 0;
  set_handler(sig, (uword)handler, flags);
  return sig;
}

/* unhandle removes it: the module may be about to be unloaded. */
static void unhandle(u32 sig, void *handler, uword instead) {
  if (sig && handler_of(sig) == (uword)handler) set_handler(sig, instead, 0);
}

/* ---- text ---- */

/* Lengths of input text are bounded. */
enum { MAX_DIR = 1024, MAX_MODULE = 128, MAX_PATH = MAX_DIR + MAX_MODULE + 128 };

#define TEXT_FUNCTION static
#define TEXT_NUMBER u32
#include "text.h"

/* put_some puts at most `most` bytes, without a terminating zero. */
static __attribute__((noinline)) char *put_some(char *p, const char *s, u32 most) {
  for (; most && *s; most--) *p++ = *s++;
  return p;
}

#include "env.h"
