// A program without a C library, of which TestContract has one row.
#define NOINLINE __attribute__((noinline, noipa))
static volatile int sink;

NOINLINE void work(int n) { sink += n; }

static long sys(long n, long a, const void *b, long c) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return r;
}

// The linker has the constructors in these.
extern void (*__init_array_start[])(int, char **, char **), (*__init_array_end[])(int, char **, char **);
extern void (*__fini_array_start[])(void), (*__fini_array_end[])(void);

NOINLINE int main(int argc, char **argv, char **envp) {
  for (int i = 0; i < 1000; i++) work(i);
  sys(1, 1, "bare\n", 5);
  return 3;
}

static __attribute__((used)) void begin(long *sp) {
  int argc = (int)*sp;
  char **argv = (char **)(sp + 1), **envp = argv + argc + 1;
  for (void (**f)(int, char **, char **) = __init_array_start; f < __init_array_end; f++) (*f)(argc, argv, envp);
  int r = main(argc, argv, envp);
  for (void (**f)(void) = __fini_array_start; f < __fini_array_end; f++) (*f)();
  sys(231, r, 0, 0);
}
__asm__(".globl _start\n_start: xor %ebp,%ebp\n mov %rsp,%rdi\n and $-16,%rsp\n call begin\n");
