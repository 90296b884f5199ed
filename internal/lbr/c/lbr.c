/* The start of software branch records, and faults. */

#include "lbr.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

u64 lbr_lo, lbr_size, lbr_code;
const u32 *lbr_entry;
struct settings lbr_settings;

static u64 code_size;
static struct state *states;
static u32 states_lock;
static int given_up;

static void fail(const char *what, const char *file) {
  char b[512];
  u64 n = 0;
  for (const char *parts[] = {"cairn: branches are not recorded: ", what, *file ? ": " : "", file, "\n", 0}, **p = parts; *p; p++)
    for (const char *c = *p; *c && n < sizeof b; c++) b[n++] = *c;
  if (write(2, b, n) < 0) return;
}

/* ---- threads ---- */

static u64 thread_pointer(void) {
  u64 tp;
  __asm__("movq %%fs:0, %0" : "=r"(tp));
  return tp;
}

static i32 tid(void) { return (i32)syscall(SYS_gettid); }

/* taken returns a state whose thread has ended, for another one. */
static struct state *taken(void) {
  for (struct state *s = __atomic_load_n(&states, __ATOMIC_ACQUIRE); s; s = s->next)
    if (s->tid && syscall(SYS_tgkill, getpid(), s->tid, 0) < 0 && errno == ESRCH) return s;
  return 0;
}

static struct state *new_state(void) {
  enum { BUFFER = (HISTORY + CAPACITY) * sizeof(struct event), CALLS = MAX_DEPTH * sizeof(struct call) };
  u64 size = PAGE + BUFFER + PAGE + SCRATCH + (lbr_settings.truth ? CALLS : 0);
  int error = errno;
  while (__atomic_exchange_n(&states_lock, 1, __ATOMIC_ACQUIRE)) syscall(SYS_sched_yield);
  struct state *s = taken();
  if (!s) {
    u8 *m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m != MAP_FAILED && mprotect(m + PAGE + BUFFER, PAGE, PROT_NONE) == 0) {
      s = (struct state *)m;
      s->end = (struct event *)(m + PAGE + BUFFER);
      s->scratch = m + PAGE + BUFFER + PAGE;
      if (lbr_settings.truth) s->calls = (struct call *)(s->scratch + SCRATCH);
      s->dispatch = lbr_dispatch;
      s->next = states;
      __atomic_store_n(&states, s, __ATOMIC_RELEASE);
    }
  }
  if (s) {
    s->branches += (u64)(s->position - s->armed);
    s->tid = tid();
    s->thread = thread_pointer();
    s->depth = s->cut = s->stack_lo = s->stack_hi = s->history = 0;
    s->wait = lbr_settings.every;
    s->position = s->armed = s->end; /* full: the first event arms it */
    memset(s->end - HISTORY, 0, HISTORY * sizeof *s->end);
  }
  __atomic_store_n(&states_lock, 0, __ATOMIC_RELEASE);
  if (s) syscall(SYS_arch_prctl, ARCH_SET_GS, s);
  errno = error;
  return s;
}

struct state *lbr_mine(void) {
  u64 gs = 0;
  syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
  struct state *s = (struct state *)gs; /* threads begin with that of their maker */
  return s && s->thread == thread_pointer() ? s : new_state();
}

/* ---- faults ---- */

int lbr_in_copy(u64 pc) {
  return pc - (lbr_code + 1) < code_size || pc - (u64)lbr_dispatch < (u64)(lbr_dispatch_end - (char *)lbr_dispatch);
}

u64 lbr_original(u64 pc) {
  u64 at = pc - lbr_code; /* as entries have it */
  if (at - 1 >= code_size) return pc;
  u64 lo = 0, hi = lbr_size; /* entries ascend, but for the zeros between them */
  while (hi - lo > 1) {
    u64 mid = lo + (hi - lo) / 2, m = mid;
    while (m > lo && !lbr_entry[m]) m--;
    if (lbr_entry[m] && lbr_entry[m] <= at) lo = mid;
    else if (m == lo) lo = mid;
    else hi = m;
  }
  while (lo && !lbr_entry[lo]) lo--;
  return lbr_lo + lo;
}

/* give_up lets the original run: there is code in it that was not found. */
static void give_up(u64 pc) {
  if (__atomic_exchange_n(&given_up, 1, __ATOMIC_RELAXED)) return;
  mprotect((void *)lbr_lo, lbr_size, PROT_READ | PROT_EXEC);
  lbr_emit(RECORD_LOST, &pc, sizeof pc);
}

/* enter leads what came to the original to the copy. */
static void enter(ucontext_t *u) {
  u64 to = (u64)u->uc_mcontext.gregs[REG_RIP] - lbr_lo;
  struct state *s = lbr_mine();
  if (!s || !lbr_entry[to]) {
    give_up(to + lbr_lo);
    return;
  }
  if (s->position == s->end) s->position = lbr_full(s, u, (u32)FROM_OUTSIDE << KIND_SHIFT);
  *s->position++ = (struct event){(u32)FROM_OUTSIDE << KIND_SHIFT, (u32)to, (u32)u->uc_mcontext.gregs[REG_RSP], 0};
  u->uc_mcontext.gregs[REG_RIP] = (i64)(lbr_code + lbr_entry[to]);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  ucontext_t *u = context;
  greg_t *regs = u->uc_mcontext.gregs;
  u64 at = (u64)info->si_addr, pc = (u64)regs[REG_RIP];
  int error = errno;
  if (at == pc && pc - lbr_lo < lbr_size && !given_up) {
    enter(u);
  } else if (lbr_in_copy(pc)) {
    struct state *s = lbr_mine();
    if (s && at - (u64)s->end < PAGE && (u64)regs[REG_RAX] == (u64)s->end) {
      /* either the store of a constant, c7 00 and four bytes, or that in lbr.S */
      u32 next = pc - (lbr_code + 1) < code_size ? *(u32 *)(pc + 2) : (u32)s->from;
      s->position = lbr_full(s, u, next);
      regs[REG_RAX] = (i64)s->position;
    } else {
      lbr_forward(number, info, u);
    }
  } else {
    lbr_forward(number, info, u);
  }
  errno = error;
}

/* ---- the start ---- */

static int find_bias(struct dl_phdr_info *info, size_t size, void *bias) {
  (void)size;
  *(u64 *)bias = info->dlpi_addr;
  return 1; /* the program is the first */
}

/* load maps the plan, whose file stays mapped. */
static const char *load(const struct plan *p, int fd) {
  u64 bias = 0;
  dl_iterate_phdr(find_bias, &bias);
  lbr_lo = p->lo + bias;
  lbr_size = p->hi - p->lo;
  u64 copy = lbr_lo + (u64)p->distance, words = (p->returns * 8 + PAGE - 1) & ~(PAGE - 1ul);
  u64 *returns = (u64 *)(copy + p->code_size);
  if (mmap((void *)copy, p->code_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, (off_t)p->code_at) != (void *)copy)
    return "no room for the copy of its code";
  if (words && mmap(returns, words, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, (off_t)p->returns_at) != returns)
    return "no room behind the copy of its code";
  for (u64 i = 0; i < p->returns; i++) returns[i] += bias;
  lbr_code = copy - 1;
  code_size = p->code_size;
  u64 tables = p->functions_at + p->functions * 4 - p->entry_at;
  u8 *t = mmap(0, tables, PROT_READ, MAP_PRIVATE, fd, (off_t)p->entry_at);
  if (t == MAP_FAILED) return "no memory";
  lbr_entry = (const u32 *)t;
  lbr_settings.functions = (const u32 *)(t + p->functions_at - p->entry_at);
  lbr_settings.function_count = p->functions;
  return 0;
}

static u64 number(const char *name, u64 otherwise) {
  const char *v = getenv(name);
  return v ? strtoull(v, 0, 10) : otherwise;
}

/* emit_maps records what is mapped executable, as /proc/self/maps has it. */
static void emit_maps(void) {
  static char text[1 << 18];
  u64 n = 0;
  i64 r;
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && n < sizeof text && (r = read(fd, text + n, sizeof text - n)) > 0) n += (u64)r;
  if (fd >= 0) close(fd);
  lbr_emit(RECORD_MAPS, text, n);
}

__attribute__((constructor)) static void start(void) {
  const char *file = getenv("CAIRN_LBR"), *out = getenv("CAIRN_LBR_OUT");
  static struct plan plan; /* the file has a page of it */
  struct stat self;
  if (!file || !out) return;
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, &plan, sizeof plan) != sizeof plan || memcmp(plan.magic, "cairnlbr", 8) || plan.version != PLAN_VERSION) {
    fail("the plan cannot be read", file);
  } else if (stat("/proc/self/exe", &self) < 0 || self.st_dev != plan.device || self.st_ino != plan.inode) {
    /* another program, that this one started */
  } else if ((lbr_settings.out = open(out, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0) {
    fail("the output cannot be opened", out);
  } else {
    lbr_settings.every = number("CAIRN_LBR_EVERY", 1009);
    lbr_settings.depth = (u32)number("CAIRN_LBR_DEPTH", 32);
    lbr_settings.truth = (u32)number("CAIRN_LBR_TRUTH", 0);
    emit_maps();
    const char *why = load(&plan, fd);
    if (!why && !new_state()) why = "no memory";
    if (!why) {
      lbr_handle(SIGSEGV, on_fault);
      if (mprotect((void *)lbr_lo, lbr_size, PROT_READ) < 0) why = "the kernel does not take the right to run from its code";
    }
    if (why) fail(why, "");
  }
  if (fd >= 0) close(fd);
}

__attribute__((destructor)) static void end(void) {
  u64 sums[3] = {0};
  for (struct state *s = __atomic_load_n(&states, __ATOMIC_ACQUIRE); s; s = s->next) {
    sums[0] += s->branches + (u64)(s->position - s->armed);
    sums[1] += s->samples;
    sums[2]++;
  }
  if (sums[2]) lbr_emit(RECORD_END, sums, sizeof sums);
}
