// A program without libraries for AArch64 under an emulator that logs what runs: calls of
// all kinds, tail calls, frames of all kinds, jumps by tables, data in the code.
#define NOINLINE __attribute__((noinline))
extern "C" {
volatile long sink;
NOINLINE long leaf(long n) { return n * 3 + sink; }
NOINLINE long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
NOINLINE long late(long n) { // it makes its frame late
  if (n & 1) return n;
  sink += leaf(n);
  return leaf(n + sink) + n;
}
NOINLINE long tail(long n) { return n > 3 ? leaf(n + 1) : fib(n); }
NOINLINE long framedTail(long n) {
  sink += leaf(n);
  return leaf(n + 2);
}
typedef long (*fn)(long);
NOINLINE long through(fn f, long n) { return f(n); }
NOINLINE long callThrough(fn f, long n) { return f(n) + f(n + 1); }
NOINLINE long jumps(long n) {
  switch (n) {
  case 0: return leaf(4);
  case 1: sink = 5; break;
  case 2: return fib(3);
  case 3: sink += 7; break;
  case 4: return n * n;
  case 5: sink -= 1; break;
  case 6: return late(n);
  case 7: return tail(n);
  case 8: sink ^= 3; break;
  default: return -1;
  }
  return sink;
}
NOINLINE long sized(long n) {
  volatile char *p = (volatile char *)__builtin_alloca(n + 16);
  p[n] = 3;
  return p[n] + leaf(n);
}
NOINLINE long many(long a, long b, long c, long d) {
  long s = 0;
  for (long i = 0; i < a; i++) {
    long x[40];
    for (long k = 0; k < 40; k++) x[k] = i * k + b + c;
    s += leaf(x[i % 40]) * late(x[b % 40]) + d;
  }
  return s;
}
}
struct base {
  virtual long get(long n) = 0;
};
struct one : base {
  long get(long n) override { return leaf(n); }
};
struct two : base {
  long get(long n) override { return n < 0 ? n : late(n - 1) + 1; }
};
NOINLINE long virtually(base *b, long n) { return b->get(n); }
NOINLINE long virtuallyTwice(base *b, long n) { return b->get(n) + b->get(n + 1); }

__asm__(".text\nconstant:\n hint 34\n adr x0, .Lword\n ldr x0, .Lword\n ret\n"
        ".p2align 3\n.Lword: .quad 0x9400000094000000\n"
        ".globl constant\n.type constant, %function\n");
extern "C" long constant(long);

extern "C" long run() {
  static fn const table[] = {leaf, fib, late, tail, framedTail, jumps, sized};
  one o;
  two t;
  long s = 0;
  for (long i = 0; i < 12; i++) {
    s += jumps(i) + sized(i) + many(3, i, 2, 1) + framedTail(i) + tail(i);
    s += through(table[i % 7], i) + callThrough(table[(i + 1) % 7], i);
    s += virtually(i & 1 ? (base *)&o : &t, i) + virtuallyTwice(i & 2 ? (base *)&o : &t, i);
    s += through(constant, i);
  }
  return s;
}
extern "C" void memset() {}
__asm__(".globl _start\n.type _start, %function\n_start: .cfi_startproc\n.cfi_undefined x30\n"
        "mov x29, #0\n mov x30, #0\n bl run\n mov x0, #0\n mov x8, #93\n svc #0\n brk #1\n.cfi_endproc\n.size _start, .-_start");
