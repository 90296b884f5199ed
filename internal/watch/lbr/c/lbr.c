/* The start of software branch records, and faults. */

#include "lbr.h"

#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct settings lbr_settings;

static struct state *states;
static u32 states_lock;

void lbr_fail(const char *what, const char *file) {
  char b[512];
  u64 n = 0;
  int error = errno;
  for (const char *parts[] = {file, *file ? ": " : "", what, 0}, **p = parts; *p; p++)
    for (const char *c = *p; *c && n < sizeof b; c++) b[n++] = *c;
  lbr_emit(RECORD_PLAIN, b, n);
  errno = error;
}

/* The start of software branch records, and faults. */

static u64 thread_pointer(void) {
  u64 tp;
  __asm__("movq %%fs:0, %0" : "=r"(tp));
  return tp;
}

static i32 tid(void) { return (i32)lbr_raw(SYS_gettid, 0, 0, 0, 0, 0, 0); }

static int ended(const struct state *s) { return s->tid && lbr_raw(SYS_tgkill, (u64)getpid(), (u64)s->tid, 0, 0, 0, 0) == -ESRCH; }

/* taken returns the state of a thread that has ended, for reuse. */
static struct state *taken(void) {
  for (struct state *s = __atomic_load_n(&states, __ATOMIC_ACQUIRE); s; s = s->next)
    if (ended(s)) return s;
  return 0;
}

static struct state *new_state(void) {
  enum { BUFFER = (HISTORY + CAPACITY) * sizeof(struct event), SEEN = (ROOM + FRAMES) * sizeof(struct seen), CALLS = MAX_DEPTH * sizeof(struct branch) };
  u64 size = PAGE + BUFFER + PAGE + SCRATCH + STACK + SEEN + (lbr_settings.truth ? CALLS : 0);
  int error = errno;
  u64 all = ~0ul, mask; /* a handler of this thread would wait for it forever */
  lbr_raw(SYS_rt_sigprocmask, SIG_SETMASK, (u64)&all, (u64)&mask, 8, 0, 0);
  while (__atomic_exchange_n(&states_lock, 1, __ATOMIC_ACQUIRE)) lbr_raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
  struct state *s = taken();
  if (!s) {
    u8 *m = lbr_mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m != MAP_FAILED && lbr_mprotect(m + PAGE + BUFFER, PAGE, PROT_NONE) == 0) {
      s = (struct state *)m;
      s->end = (struct event *)(m + PAGE + BUFFER);
      s->scratch = m + PAGE + BUFFER + PAGE;
      s->stack = s->scratch + SCRATCH;
      s->frames = (struct seen *)(s->stack + STACK);
      if (lbr_settings.truth) s->calls = (struct branch *)(s->stack + STACK + SEEN);
      s->next = states;
      __atomic_store_n(&states, s, __ATOMIC_RELEASE);
    }
  }
  if (s) {
    if (s->counted) lbr_rest(s, 0); /* events that the previous thread left */
    s->tid = tid();
    s->thread = thread_pointer();
    s->depth = s->cut = s->stack_lo = s->stack_hi = s->history = 0;
    s->wait = lbr_settings.every;
    s->rate = 0;
    s->moved = lbr_moved;
    s->position = s->armed = s->counted = s->end; /* full: the first event arms it */
    s->followed = s->end;
    s->top = s->bottom = ROOM;
    s->walked = lbr_settings.by_calls;
    memset(s->end - HISTORY, 0, HISTORY * sizeof *s->end);
  }
  __atomic_store_n(&states_lock, 0, __ATOMIC_RELEASE);
  if (s) {
    stack_t ours = {.ss_sp = s->stack, .ss_size = STACK};
    s->masked = s->pending = 0;
    lbr_raw(SYS_arch_prctl, ARCH_SET_GS, (u64)s, 0, 0, 0, 0);
    lbr_raw(SYS_sigaltstack, (u64)&ours, (u64)&s->given, 0, 0, 0, 0);
    s->given.ss_flags &= ~SS_ONSTACK;
  }
  lbr_raw(SYS_rt_sigprocmask, SIG_SETMASK, (u64)&mask, 0, 8, 0, 0);
  errno = error;
  return s;
}

struct state *lbr_mine(void) {
  u64 gs = 0;
  lbr_raw(SYS_arch_prctl, ARCH_GET_GS, (u64)&gs, 0, 0, 0, 0);
  struct state *s = (struct state *)gs; /* a new thread begins with the state of its creator */
  return s && s->thread == thread_pointer() ? s : new_state();
}

/* forked corrects the states in a child made by fork: this thread has a new id, the others do not
 * exist, and the parent writes their events. */
static void forked(void) {
  u64 tp = thread_pointer();
  states_lock = 0; /* in case another thread held it */
  for (struct state *s = states; s; s = s->next) {
    if (s->thread == tp) s->tid = tid();
    if (s->thread == tp) lbr_rest(s, 1);
    s->counted = s->position;
    s->branches = s->instructions = s->samples = s->faults = 0;
  }
}

/* ---- faults ---- */

static int in_dispatch(u64 pc) { return pc - (u64)lbr_dispatch < (u64)(lbr_dispatch_end - (char *)lbr_dispatch); }

int lbr_in_copy(u64 pc) { return lbr_module_of_copy(pc) || in_dispatch(pc); }

u64 lbr_original(u64 pc) {
  const struct module *m = lbr_module_of_copy(pc);
  if (!m) return pc;
  u64 at = pc - m->code;        /* as entries have it */
  u64 lo = 0, hi = m->span; /* entries ascend, but for the zeros between them */
  while (hi - lo > 1) {
    u64 mid = lo + (hi - lo) / 2, k = mid;
    while (k > lo && !m->entry[k]) k--;
    if (m->entry[k] && m->entry[k] <= at) lo = mid;
    else if (k == lo) lo = mid;
    else hi = k;
  }
  while (lo && !m->entry[lo]) lo--;
  return m->lo + lo;
}

_Static_assert(sizeof(struct state) <= PAGE, "the events follow the first page");

/* number_of returns a number from 1 on for the return address of a call from outside, of which there
 * are few; 0: there are too many. */
static u32 number_of(struct state *s, u64 back) {
  if (!back) return 0;
  for (u32 i = (u32)(back * 0x9e3779b97f4a7c15 >> 56), n = 0; n < BACKS; i = (i + 1) % BACKS, n++) {
    if (!s->backs[i]) s->backs[i] = back;
    if (s->backs[i] == back) return i + 1;
  }
  return 0;
}

/* enter makes a thread at the original of a module continue in its copy. */
static void enter(struct module *m, ucontext_t *u) {
  u64 pc = (u64)u->uc_mcontext.gregs[REG_RIP], to = pc - m->lo;
  struct state *s = lbr_mine();
  if (!s || !m->entry[to]) {
    lbr_release(m);
    lbr_emit(RECORD_LOST, &pc, sizeof pc);
    return;
  }
  if (s->position == s->end) s->position = lbr_full(s, u, FROM_OUTSIDE);
  s->faults++;
  u32 back = lbr_begins(m, pc) ? number_of(s, *(const u64 *)u->uc_mcontext.gregs[REG_RSP]) : 0;
  *s->position++ = (struct event){(u32)FROM_OUTSIDE << KIND_SHIFT | back, (u32)to, (u32)u->uc_mcontext.gregs[REG_RSP], 0, (u16)(m - lbr_modules)};
  u->uc_mcontext.gregs[REG_RIP] = (i64)(m->code + m->entry[to]);
}

/* released reports whether an address is in a module whose original runs again. */
static int released(u64 pc) {
  for (struct module *m = lbr_modules; m < lbr_modules + lbr_module_count; m++)
    if (pc - m->lo < m->span && !m->size && m->code_size) return 1;
  return 0;
}

/* filled handles the fault of storing an event after the end of the buffer. */
static void filled(struct state *s, ucontext_t *u) {
  u64 pc = (u64)u->uc_mcontext.gregs[REG_RIP];
  const struct module *m = lbr_module_of_copy(pc);
  /* The instruction is either the store of a constant, c7 00 and four bytes, or one in lbr.S. */
  u32 from = m ? *(u32 *)(pc + 2) : (u32)s->from;
  s->position = lbr_full(s, u, from >> KIND_SHIFT);
  u->uc_mcontext.gregs[REG_RAX] = (i64)s->position;
}

static void on_fault(int number, siginfo_t *info, void *context) {
  ucontext_t *u = context;
  greg_t *regs = u->uc_mcontext.gregs;
  u64 at = (u64)info->si_addr, pc = (u64)regs[REG_RIP];
  struct module *m = at == pc ? lbr_module_at(pc) : 0;
  struct state *s;
  int error = errno;
  if (m) {
    enter(m, u);
  } else if (at == pc && released(pc)) {
    /* by another thread in the meantime */
  } else if (pc == lbr_loader_tells && pc) {
    lbr_loader_changed();
    regs[REG_RIP] = *(greg_t *)regs[REG_RSP]; /* all that the function does is return */
    regs[REG_RSP] += 8;
  } else if (lbr_in_copy(pc) && (s = lbr_mine()) && at - (u64)s->end < PAGE && (u64)regs[REG_RAX] == (u64)s->end) {
    filled(s, u);
  } else {
    lbr_forward(number, info, u);
  }
  errno = error;
}

void lbr_give_up(const char *why) {
  for (struct module *m = lbr_modules; m < lbr_modules + lbr_module_count; m++)
    if (m->size) lbr_release(m);
  lbr_unwatch_loader();
  lbr_fail(why, "");
}

/* ---- the start ---- */

static int find_bias(struct dl_phdr_info *info, size_t size, void *bias) {
  (void)size;
  *(u64 *)bias = info->dlpi_addr;
  return 1; /* the program is the first */
}

static u64 number(const char *name, u64 otherwise) {
  const char *v = getenv(name);
  return v ? strtoull(v, 0, 10) : otherwise;
}

/* keep copies a variable of the environment; it returns 0 if there is none. */
static int keep(char *to, const char *name) {
  const char *v = getenv(name);
  if (!v || strlen(v) >= PATH) return 0;
  strcpy(to, v);
  return 1;
}

/* is_traced reports whether the process is being traced, as by a debugger. */
static int is_traced(void) {
  static const char field[] = "TracerPid:\t";
  char text[4096];
  int fd = lbr_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  i64 n = fd < 0 ? 0 : lbr_read(fd, text, sizeof text - 1);
  if (fd >= 0) lbr_close(fd);
  text[n > 0 ? n : 0] = 0;
  const char *at = strstr(text, field);
  return at && at[sizeof field - 1] != '0';
}

/* begin loads the copies of the program and its modules; it returns the reason if it cannot. */
static const char *begin(void) {
  u64 bias = 0;
  dl_iterate_phdr(find_bias, &bias);
  lbr_emit_maps();
  if (is_traced()) return "it is traced, and a tracer sees the faults that lead to the copy";
  if (!new_state() || pthread_atfork(0, 0, forked)) return "no memory";
  /* From here on the loader itself may call the program: its own malloc. */
  lbr_handle(SIGSEGV, on_fault);
  const char *why = lbr_load(&lbr_modules[0], bias);
  if (why) {
    lbr_unhandle(SIGSEGV);
    lbr_modules[0].code = 0; /* the program handles all signals itself */
    return why;
  }
  lbr_find_leaves();
  lbr_watch_loader();
  return 0;
}

__attribute__((constructor)) static void start(void) {
  const char *why;
  struct stat self;
  if (!keep(lbr_settings.plans, "CAIRN_LBR") || !keep(lbr_settings.out, "CAIRN_LBR_OUT")) return;
  if ((why = lbr_read_plans())) {
    return;
  }
  if (stat("/proc/self/exe", &self) < 0 || self.st_dev != lbr_modules[0].device || self.st_ino != lbr_modules[0].inode) return; /* another program, that this one started */
  if (!lbr_open_output()) return; /* cairn reports it: nothing was recorded */
  lbr_settings.every = number("CAIRN_LBR_EVERY", 1009);
  lbr_settings.depth = (u32)number("CAIRN_LBR_DEPTH", 32);
  lbr_settings.truth = (u32)number("CAIRN_LBR_TRUTH", 0);
  lbr_settings.branches = (u32)number("CAIRN_LBR_BRANCHES", 0);
  lbr_settings.by_calls = (u32)number("CAIRN_LBR_BY_CALLS", 0);
  lbr_settings.entry = getauxval(AT_ENTRY);
  if ((why = begin())) lbr_fail(why, "");
}

__attribute__((destructor)) static void end(void) {
  u64 sums[5] = {0}, tp = thread_pointer();
  for (struct state *s = __atomic_load_n(&states, __ATOMIC_ACQUIRE); s; s = s->next) {
    if (s->thread == tp || ended(s)) lbr_rest(s, 0); /* others may still be running */
    sums[0] += s->branches + (u64)(s->position - s->counted);
    sums[1] += s->samples;
    sums[2]++;
    sums[3] += s->faults;
    sums[4] += s->instructions;
  }
  if (sums[2]) lbr_emit(RECORD_END, sums, sizeof sums);
}
