/* Hooks for Windows: times of functions that other compilers than those of cairn compiled. It is the runtime of mode spike with
 * the names that compilers call:
 *
 *   _penter, _pexit               MSVC with /Gh /GH, after the prologue or at the first instruction, and before the end
 *   __cyg_profile_func_enter,     gcc and clang with -finstrument-functions, with the function and its return address
 *   __cyg_profile_func_exit
 *   __fentry__                    gcc and clang with -pg -mfentry, at the first instruction; nothing is called at the end
 *
 * The stack pointer of such a call need not be that of the function's entry, and nothing says that a call was left by an
 * exception. So a thread has a list of its open calls for each stack that it runs on, by the stack pointer in the first hook: a
 * hook above other calls ends those, at a time since the last hook before. Return addresses are not replaced, as Linux's hooks
 * do: the unwinder of Windows could not find the originals. */

#define CAIRN_HOOKS
#include "coff_timed.c"

/* What is called. */
enum { PENTER, FUNCTION, FENTRY, PEXIT, FUNCTION_EXIT };

/* What a hook has saved below its frame pointer. */
enum { SAVED_RCX = -3, SAVED_RDX = -4 };

enum { OPEN_CALLS = 65535, LIST_SIZE = sizeof(struct open_calls) + OPEN_CALLS * sizeof(struct open_call) };
enum { FARTHEST = 1 << 20 };
enum { FIRST = 4096 }; /* of a list, as there may be thousands of fibers */

/* A call of a hook. */
struct hooked {
  u64 site, caller, sp;
  u32 kind;
  const u64 *frame;          /* its frame pointer */
  const struct registers *r; /* of the function; 0 if they are not needed */
};

static struct hooked hooked_of(const u64 *frame, u32 kind) {
  struct hooked h = {frame[1], 0, (u64)(frame + 2), kind, frame, 0};
  if (kind == FUNCTION || kind == FUNCTION_EXIT) h.site = frame[SAVED_RCX] + 1, h.caller = frame[SAVED_RDX];
  return h;
}

/* own_thread returns the state of this thread, 0 if there is none. It calls nothing: the last error remains. */
static struct thread *own_thread(const struct process *p) {
  u64 *more;
  u64 v;
  if (p->tls == (u32)NO_SLOT) return 0;
  if (p->tls < SLOTS) {
    __asm__ volatile("movq %%gs:0x1480(,%1,8), %0" : "=r"(v) : "r"((u64)p->tls));
    return (struct thread *)v;
  }
  __asm__ volatile("movq %%gs:0x1780, %0" : "=r"(more));
  return more ? (struct thread *)more[p->tls - SLOTS] : 0;
}

/* open_here returns the open calls of the stack that this thread is on, 0 if there is no list yet. */
static struct open_calls *open_here(const struct thread *t) {
  struct open_calls *c = t ? t->open_calls : 0;
  return c && c->base == stack_base() ? c : 0;
}

/* is_over reports whether a call has ended when a hook is called. */
static int is_over(const struct open_call *x, const struct hooked *h) {
  if (h->kind == FUNCTION_EXIT) return x->site != h->site || x->caller != h->caller || x->sp - h->sp + FARTHEST > 2 * FARTHEST;
  if (h->kind == FUNCTION && x->kind == FUNCTION && x->sp == h->sp) return x->caller != h->caller; /* else h is inlined */
  if (h->kind == PEXIT) return x->sp < h->sp || x->kind == FENTRY;
  return x->sp <= h->sp;
}

/* is_unmatched reports whether a hook at an end names a call that is not open: its beginning was missed. */
static int is_unmatched(const struct open_calls *c, const struct hooked *h) {
  u32 n = h->kind == FUNCTION_EXIT ? c->n : 0;
  while (n && is_over(&c->call[n - 1], h)) n--;
  return h->kind == FUNCTION_EXIT && !n;
}

/* is_slow reports whether a call that ends now may have taken long. */
static int is_slow(struct process *p, const struct open_call *x, u32 clock) {
  return (i32)(x->stamp - clock + load(word(p, LOW))) < 0;
}

static void open_call(struct process *p, struct open_calls *c, const struct hooked *h) {
  struct open_call *x = &c->call[c->n];
  u32 clock = load(word(p, CLOCK));
  u8 level = c->n && x[-1].sp == h->sp ? (u8)least(x[-1].level + 1, 7) : 0;
  *x = (struct open_call){h->site, h->caller, h->sp, clock, (u8)h->kind, level};
  c->last = clock;
  store(&c->n, c->n + 1);
}

/* try_hook does what a hook has to, and reports whether more is needed: then it has done nothing. */
__attribute__((used)) u32 __cairn_try_hook(const u64 *frame, u32 kind) {
  struct process *p = state;
  struct hooked h = hooked_of(frame, kind);
  if (!p) return 0;
  struct open_calls *c = open_here(own_thread(p));
  if (!c) return kind < PEXIT;
  if (is_unmatched(c, &h)) return 0;
  u32 n = c->n, clock = load(word(p, CLOCK));
  while (n && is_over(&c->call[n - 1], &h)) {
    if (is_slow(p, &c->call[n - 1], clock)) return 1;
    n--;
  }
  if (kind >= PEXIT) {
    if (n && is_slow(p, &c->call[n - 1], clock)) return 1;
    c->n = n - (n > 0);
    c->last = clock;
    return 0;
  }
  if (n == c->room) return 1;
  c->n = n;
  open_call(p, c, &h);
  return 0;
}

/* make_list makes the list of the stack that a thread is on the current one. */
static struct open_calls *make_list(struct thread *t) {
  struct open_calls **at = &t->open_calls, *c;
  u64 base = stack_base();
  while ((c = *at) && c->base != base) at = &c->next;
  if (c) *at = c->next;
  else if (!(c = VirtualAlloc(0, LIST_SIZE, MEM_RESERVE, READWRITE))) return 0;
  else if (!VirtualAlloc(c, FIRST, MEM_COMMIT, READWRITE)) return VirtualFree(c, 0, MEM_RELEASE), (struct open_calls *)0;
  else c->base = base, c->room = (FIRST - sizeof *c) / sizeof *c->call;
  c->next = t->open_calls;
  return t->open_calls = c;
}

/* enlarge makes room for a call. Without any, the outer calls are not judged. */
static void enlarge(struct open_calls *c) {
  u64 size = sizeof *c + (u64)c->room * sizeof *c->call, more = (size + 2 * GRAIN - 1) & -(u64)GRAIN;
  more = least(more, LIST_SIZE);
  if (c->room == OPEN_CALLS || !VirtualAlloc(c, more, MEM_COMMIT, READWRITE)) c->n = 0;
  else c->room = (u32)((more - sizeof *c) / sizeof *c->call);
}

/* ---- calls that may have taken long ---- */

/* put_in_front puts the innermost open calls, whose frames are gone, in front of a stack. Its first frame is replaced if it is
 * that of a function that begins now. */
static void put_in_front(const struct open_calls *c, const struct slow_call *call, struct stack *s) {
  u32 drop = call->begins && s->n, more = call->gone - drop, n = (u32)least(s->n + more, CHAIN);
  for (u32 i = n; i-- > call->gone;) {
    copy(&s->entry[i], &s->entry[i - more], sizeof *s->entry);
    s->sp[i] = s->sp[i - more];
  }
  for (u32 i = 0; i < call->gone; i++) {
    const struct open_call *x = &c->call[c->n - 1 - i];
    s->sp[i] = x->sp;
    s->entry[i] = (struct entry){x->site, 0, 0, LOG_ENTRY_NO_STAMP, (u32)x->sp};
  }
  s->n = n, s->found += more;
}

/* complete sets the times of the frames of a stack, from the second on, by the open calls but for the last, which is judged. A
 * frame has those between the stack pointers at its entry and at its callee's; the outermost is the function itself, the others
 * were inlined. */
static void complete(struct process *p, struct thread *t, const struct slow_call *call, struct stack *s) {
  const struct open_calls *c = t->open_calls;
  if (call->gone) put_in_front(c, call, s);
  for (u32 i = 1, k = c->n - 1; i < s->n; i++) {
    const struct open_call *found = 0;
    for (; k && c->call[k - 1].sp <= s->sp[i]; k--)
      if (c->call[k - 1].sp > s->sp[i - 1]) found = &c->call[k - 1];
    if (!found || !found->stamp || !(s->entry[i].flags & LOG_ENTRY_NO_STAMP)) continue;
    interval(p, found->stamp, call->e, &s->t0[i], &s->t1[i]);
    s->entry[i].flags = 0;
    set_times(s, i, call->e);
  }
}

static u64 function_of(u64 at) {
  u64 base = 0;
  const struct function *f = RtlLookupFunctionEntry(at, &base, 0);
  return f ? base + f->begin : 0;
}

/* gone_with returns how many of the last open calls have ended when a hook is called: not more than a stack needs. */
static u32 gone_with(const struct open_calls *c, const struct hooked *h) {
  u32 n = 0;
  while (n < least(c->n, CHAIN / 2) && is_over(&c->call[c->n - 1 - n], h)) n++;
  return n;
}

/* is_inlined reports whether a function that begins is a part of one that is open. */
static int is_inlined(const struct open_calls *c, const struct hooked *h) {
  u32 n = c->n;
  while (n && c->call[n - 1].sp < h->sp) n--;
  return h->kind == FUNCTION && n && c->call[n - 1].sp == h->sp && c->call[n - 1].caller == h->caller;
}

/* judge judges the last of the open calls, which h ends. If h is not its own exit, it ended at a time since the last hook. */
static void judge(struct process *p, struct thread *t, const struct hooked *h, int own) {
  struct open_calls *c = t->open_calls;
  const struct open_call *x = &c->call[c->n - 1];
  struct slow_call call = {.site = own ? h->site : x->site, .sp = x->sp - x->level, .e = now(p)};
  if (!x->stamp || !is_slow(p, x, (u32)clock_of(p, call.e))) return;
  interval(p, x->stamp, call.e, &call.t0, &call.t1);
  if (own && h->kind == PEXIT && function_of(h->site) != function_of(x->site)) { /* the hook at an entry was missed */
    add(&p->dropped, call.e - call.t0 >= p->threshold);
    return;
  }
  call.gone = own ? h->sp > x->sp : gone_with(c, h);
  if (!own) {
    u64 last, unused;
    call.begins = h->kind < PEXIT && !is_inlined(c, h);
    interval(p, c->last, call.e, &last, &unused);
    call.t1 = least(call.t1 + less(call.e, last), call.e);
    call.left = x->kind == FENTRY ? 0 : LOG_ENTRY_LEFT;
  }
  get_context(h->r, &t->context);
  t->context.rbp = h->frame[0], t->context.rip = h->frame[1], t->context.rsp = h->sp;
  evaluate(p, t, call, 0, 0);
}

/* of_hook does what a hook has to. Its frame pointer is in rcx, what it is in rdx. In a handler that interrupted this code, no
 * call is judged. */
static void of_hook(struct process *p, const struct registers *r) {
  struct hooked h = hooked_of((const u64 *)r->rcx, (u32)r->rdx);
  struct thread *t = thread_of(p), *judges;
  struct open_calls *c = open_here(t);
  if (!t || (!c && !(c = make_list(t))) || is_unmatched(c, &h)) return;
  h.r = r;
  judges = begin(p);
  for (; c->n && is_over(&c->call[c->n - 1], &h); c->n--)
    if (judges) judge(p, t, &h, 0);
  if (h.kind < PEXIT) {
    if (c->n == c->room) enlarge(c);
    open_call(p, c, &h);
  } else if (c->n) {
    if (judges) judge(p, t, &h, 1);
    c->n--;
    c->last = load(word(p, CLOCK));
  }
  if (judges) end(judges);
}
ROUTINE(hook)

/* HOOK defines a hook, which keeps all registers and flags. The stack pointer need not be aligned, and there may be no home
 * space. */
#define HOOK(name, kind)                                                                                             \
  __asm__(".text\n.globl " #name "\n.def " #name "; .scl 2; .type 32; .endef\n.seh_proc " #name "\n" #name ":\n"      \
          "pushq %rbp\n.seh_pushreg %rbp\nmovq %rsp, %rbp\n.seh_setframe %rbp, 0\n.seh_endprologue\n"                \
          "pushfq\npushq %rax\npushq %rcx\npushq %rdx\npushq %r8\npushq %r9\npushq %r10\npushq %r11\ncld\n"           \
          "movq %rbp, %rcx\nmovl $" #kind ", %edx\nsubq $32, %rsp\ncall __cairn_try_hook\ntestl %eax, %eax\nje 1f\n"  \
          "movq %rbp, %rcx\nmovl $" #kind ", %edx\ncall __cairn_hook\n1:\n"                                          \
          "leaq -64(%rbp), %rsp\npopq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rdx\npopq %rcx\npopq %rax\n"         \
          "popfq\npopq %rbp\nret\n.seh_endproc\n");

HOOK(_penter, 0)
HOOK(__cyg_profile_func_enter, 1)
HOOK(__fentry__, 2)
HOOK(_pexit, 3)
HOOK(__cyg_profile_func_exit, 4)
_Static_assert(PENTER == 0 && FUNCTION == 1 && FENTRY == 2 && PEXIT == 3 && FUNCTION_EXIT == 4, "the numbers of hooks");

#ifdef CAIRN_DLL
/* The entry point of the DLL, which has no C library. */
i32 __cairn_enter_library(const u8 *module, u32 reason, const void *always) {
  life(module, reason, always);
  return 1;
}
#endif

#ifdef CAIRN_MSVC
/* The C library's table of callbacks, without which nothing starts. */
__asm__(".section .drectve, \"yni\"\n.ascii \" /include:_tls_used \"\n.text\n");
#endif
