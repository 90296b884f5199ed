/* A program for Android without its C library: threads, of which each has a thread area of zeros as that C library makes it,
 * call, recurse and call by pointers. One call takes long. */

/* As in cairn.h, which needs the C library's headers. */
#define CAIRN_SKIP __attribute__((section(".text.cairn_skip")))

typedef void start(int, char **, char **), end(void);
extern start *__preinit_array_start[] __attribute__((weak, visibility("hidden"))), *__preinit_array_end[] __attribute__((weak, visibility("hidden")));
extern start *__init_array_start[] __attribute__((weak, visibility("hidden"))), *__init_array_end[] __attribute__((weak, visibility("hidden")));
extern end *__fini_array_start[] __attribute__((weak, visibility("hidden"))), *__fini_array_end[] __attribute__((weak, visibility("hidden")));
CAIRN_SKIP int pthread_atfork(end *before, end *parent, end *child) { return 0; }
char **environ;

#define APART __attribute__((noinline))
volatile int sum;
APART int leaf(int n) { return n + sum % 2; }
APART int recurse(int n) { return n ? recurse(n - 1) + leaf(n) : 0; }
APART int even(int n);
APART int odd(int n) { return n ? even(n - 1) : 0; } /* a tail call */
APART int even(int n) { return n ? odd(n - 1) : 1; }
int (*volatile const some[])(int) = {leaf, recurse, odd, even};
APART int choose(int n) { return some[n % 4](n % 23); }
APART void work(int seed) {
  for (int i = 0; i < 300; i++) {
    seed = seed * 1103515245 + 12345;
    sum += choose(seed >> 16 & 0xfff);
  }
}

enum { THREADS = 8, STACK = 65536 };
struct thread {
  long area[16], shadow[64], seed;
  int running;
  char stack[STACK] __attribute__((aligned(16)));
} threads[THREADS];
long first[16 + 64]; /* with its shadow stack, to which x18 points */
APART void slow(void) {
  long now, end, rate;
  __asm__ volatile("mrs %0, cntvct_el0\n\tmrs %1, cntfrq_el0" : "=r"(now), "=r"(rate));
  for (end = now + rate / 20; now < end;) __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
}
APART void run(struct thread *t) { work((int)t->seed); }

long begin(struct thread *t, char *stack, long *area, int *running);
__asm__(".globl begin\nbegin:\n mov x4, x3\n mov x9, x0\n mov x3, x2\n mov x2, x4\n mov x0, 0x0f00\n movk x0, 0x3d, lsl 16\n"
        " mov x8, 220\n svc 0\n cbz x0, 1f\n ret\n1: mov x29, 0\n mov x30, 0\n add x18, x3, 128\n mov x0, x9\n bl run\n mov x8, 93\n mov x0, 0\n svc 0\n");
CAIRN_SKIP static void join(int *running) {
  for (int n; (n = *(volatile int *)running);) {
    register long x8 __asm__("x8") = 98, x0 __asm__("x0") = (long)running, x1 __asm__("x1") = 0, x2 __asm__("x2") = n, x3 __asm__("x3") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  }
}
APART int all(void) {
  for (int i = 0; i < THREADS; i++) {
    threads[i].seed = i + 7;
    threads[i].running = 1;
    if (begin(&threads[i], threads[i].stack + STACK, threads[i].area, &threads[i].running) < 0) return 1;
  }
  work(3);
  slow();
  for (int i = 0; i < THREADS; i++) join(&threads[i].running);
  return 0;
}
CAIRN_SKIP __attribute__((used)) int start_c(long *sp) {
  char **argv = (char **)(sp + 1), **envp = argv + sp[0] + 1;
  environ = envp;
  for (long i = 0; i < __preinit_array_end - __preinit_array_start; i++) __preinit_array_start[i](sp[0], argv, envp);
  for (long i = 0; i < __init_array_end - __init_array_start; i++) __init_array_start[i](sp[0], argv, envp);
  int failed = all();
  for (long i = __fini_array_end - __fini_array_start; i--;) __fini_array_start[i]();
  return failed;
}
__asm__(".globl _start\n_start:\n adrp x0, first\n add x0, x0, :lo12:first\n msr tpidr_el0, x0\n add x18, x0, 128\n mov x0, sp\n bl start_c\n mov x8, 94\n svc 0\n");
