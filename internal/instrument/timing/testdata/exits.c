/* Every way to leave a function, and what lives in registers meanwhile. It
 * prints what it computed: the same with and without code at the exits. */
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
typedef struct { long a, b; } two;
typedef struct { double a, b; } reals;
typedef struct { long a; double b; } mixed;
typedef struct { long a[9]; } big;
typedef int vec __attribute__((vector_size(16)));

static volatile int zero, one = 1;

/* Arguments of all classes. */
NOINLINE long all(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j, double k,
                  double l, double m, double n, long o, double p)
{
	printf("all %ld %ld %ld %ld %ld %ld %g %g %g %g %g %g %g %g %ld %g\n", a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
	return a + f + o;
}
NOINLINE long tail_all(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j, double k,
                       double l, double m, double n, long o, double p)
{
	return all(b, a, d, c, f, e, h, g, j, i, l, k, n, m, o, p);
}
long (*volatile all_pointer)(long, long, long, long, long, long, double, double, double, double, double, double, double,
                             double, long, double) = all;
NOINLINE long tail_pointer(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j, double k,
                           double l, double m, double n, long o, double p)
{
	return all_pointer(a + 1, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}

/* al, and functions that may hand it on. */
NOINLINE double variadic(int n, ...)
{
	va_list l;
	double s = 0;
	va_start(l, n);
	for (int i = 0; i < n; i++)
		s += i & 1 ? va_arg(l, double) : va_arg(l, long);
	va_end(l);
	return s;
}
NOINLINE double tail_variadic(long a, double b) { return variadic(4, a, b, a + 1, b * 2); }
double unprototyped();
NOINLINE double tail_unprototyped(double b) { return unprototyped(3, 5L, b, 6L); }
double unprototyped(int n, long a, double b, long c) { return n + a + b + c; }
NOINLINE int print(const char *format, ...)
{
	va_list l;
	va_start(l, format);
	int n = vprintf(format, l);
	va_end(l);
	return n;
}

/* What is returned. */
NOINLINE two pair(long a) { return (two){ a, ~a }; }
NOINLINE reals doubles(double a) { return (reals){ a, -a }; }
NOINLINE mixed both(long a) { return (mixed){ a, a / 2.0 }; }
NOINLINE big large(long a)
{
	big r;
	for (int i = 0; i < 9; i++)
		r.a[i] = a * i;
	return r;
}
NOINLINE big tail_large(long a) { return large(a + 1); }
NOINLINE long double wide(long double a) { return a * 3; }
NOINLINE long double complex widest(long double a) { return a + 2 * a * I; }
NOINLINE double complex cplx(double a) { return a + 2 * a * I; }
NOINLINE __int128 octa(long a) { return (__int128)a << 70 | a; }
NOINLINE vec vector(int a) { return (vec){ a, a + 1, a + 2, a + 3 }; }

/* Jumps that stay inside. */
NOINLINE int table(int k, int v)
{
	switch (k) {
	case 0: return pair(v).a;
	case 1: return v * 3;
	case 2: v += 17; break;
	case 3: return v ^ 5;
	case 4: v = abs(v); break;
	case 5: return table(k - 5, v);
	case 6: v <<= 2; break;
	case 7: return (int)all(v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	}
	return v + k;
}
NOINLINE int threaded(const unsigned char *code)
{
	static void *const ops[] = { &&add, &&twice, &&call, &&end };
	int v = 1;
	goto *ops[*code++];
add:
	v += 7;
	goto *ops[*code++];
twice:
	v *= 2;
	goto *ops[*code++];
call:
	v += table(v & 7, v);
	goto *ops[*code++];
end:
	return v;
}

/* Tail calls of all shapes. */
NOINLINE int odd(unsigned n);
NOINLINE int even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
NOINLINE int odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }
struct object { int (*method)(struct object *, int); int field; };
NOINLINE int method(struct object *o, int k) { return o->field * k; }
NOINLINE int virtual(struct object *o, int k) { return o->method(o, k + 1); }
NOINLINE int virtuals(struct object **o, int i, int k) { return o[i]->method(o[i], k); }
NOINLINE int maybe(struct object *o, int k)
{
	if (k > 3)
		return virtual(o, k);
	return k;
}
NOINLINE void nothing(int k)
{
	if (k == one)
		print("nothing %d\n", k);
}

/* Frames of odd shapes. */
NOINLINE int aligned(int n)
{
	__attribute__((aligned(64))) volatile char room[128];
	room[n] = n;
	return ((unsigned long)room & 63) + room[n];
}
NOINLINE int flexible(int n)
{
	volatile char *p = __builtin_alloca(n);
	p[n - 1] = n;
	volatile char q[n];
	q[0] = p[n - 1];
	return q[0] + aligned(q[0]);
}
NOINLINE long deep(int n) { volatile long room[32]; room[0] = n; return n == 0 ? 0 : deep(n - 1) + room[0]; }

/* Ends that are none. */
static jmp_buf target;
__attribute__((noreturn)) NOINLINE void jump(int k) { longjmp(target, k); }
NOINLINE int catcher(int k)
{
	int got = setjmp(target);
	if (got)
		return got + 1;
	if (k)
		jump(k);
	return 0;
}
__attribute__((noreturn)) NOINLINE void finish(int k) { print("end\n"); exit(k); }
NOINLINE int trapping(int k)
{
	if (k == 1234)
		__builtin_trap();
	if (k == 1235)
		abort();
	return k + 1;
}
__attribute__((cold)) NOINLINE int rare(int k) { return k * 2; }
NOINLINE int chilly(int k)
{
	if (__builtin_expect(k > 100, 0))
		return rare(k) + rare(k + 1);
	return k;
}
NOINLINE int repeated(char *p, unsigned long n)
{
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(7) : "memory");
	return p[-1];
}
NOINLINE int branching(int k)
{
	__asm__ goto("testl %0, %0\n\tjz %l1" : : "r"(k) : "cc" : nil);
	return k + 5;
nil:
	return pair(k).b;
}

/* Before main, and before everything. */
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed += pair(3).a; }
__attribute__((constructor(101))) static void construct_early(void) { constructed += 100; }
static int by_resolver(int k) { return k + 40; }
static int (*choose(void))(int) { return by_resolver; }
static void *resolver(void) { return choose(); }
int resolved(int k) __attribute__((ifunc("resolver")));

#ifndef __clang__
/* Nested functions, which get the frame that they share in r10. */
NOINLINE int apply(int (*f)(int), int k) { return f(k) + 1; }
NOINLINE int outer(int k)
{
	int seen = 0;
	NOINLINE int inner(int i) { seen += i; return seen + k; }
	NOINLINE int handing(int i) { return inner(i + 1); }
	NOINLINE int calling(int i) { return inner(i + 2) + handing(i); }
	NOINLINE double many(int i, ...)
	{
		va_list l;
		va_start(l, i);
		double d = va_arg(l, double) + va_arg(l, long) + inner(i);
		va_end(l);
		return d;
	}
	return inner(1) + handing(2) + calling(3) + apply(inner, 4) + apply(calling, 5) + (int)many(6, 1.5, 2L);
}
#else
NOINLINE int outer(int k) { return k; }
#endif

int main(int argc, char **argv)
{
	print("%ld\n", tail_all(1, 2, 3, 4, 5, 6, .1, .2, .3, .4, .5, .6, .7, .8, 15, 16));
	print("%ld\n", tail_pointer(1, 2, 3, 4, 5, 6, .1, .2, .3, .4, .5, .6, .7, .8, 15, 16));
	print("%g %g %g\n", variadic(2, 1L, 2.5), tail_variadic(3, 4.5), tail_unprototyped(1.25));
	two t = pair(12);
	reals r = doubles(1.5);
	mixed m = both(9);
	big b = tail_large(3);
	double complex c = cplx(2);
	long double complex w = widest(2.5L);
	__int128 o = octa(77);
	vec v = vector(5);
	print("%ld %ld %g %g %ld %g %ld\n", t.a, t.b, r.a, r.b, m.a, m.b, b.a[8]);
	print("%Lg %Lg %Lg %g %g %lx %lx %d %d\n", wide(1.5L), creall(w), cimagl(w), creal(c), cimag(c), (long)(o >> 64), (long)o, v[0], v[3]);
	for (int k = -1; k < 9; k++)
		print("%d ", table(k, argc + k));
	print("%d %d %d\n", threaded((const unsigned char *)"\0\1\2\0\2\1\3"), even(100 + zero), odd(7));
	struct object object = { method, 6 }, *objects[] = { &object, &object };
	print("%d %d %d %d\n", virtual(&object, 6), virtuals(objects, one, 4), maybe(&object, 2), maybe(&object, 5));
	nothing(1);
	nothing(2);
	print("%d %d %ld %d %d\n", aligned(9), flexible(40), deep(5000), catcher(0), catcher(4));
	char room[64];
	print("%d %d %d %d %d %d\n", trapping(4), chilly(5), chilly(500), repeated(room, 64), branching(0), branching(3));
	print("%d %d %d\n", constructed, resolved(2), outer(3));
	finish(zero);
}
