#ifdef MIXED
#pragma GCC target("thumb")
#endif
#define N __attribute__((noinline))
typedef int (*six)(int, int, int, int);
N int far_leaf(int a, int b, int c, int d) { return a * b + c * d; }
six volatile through = far_leaf;
N int far_tail(int a, int b, int c, int d) { return through(a + 1, b, c, d); }
N int far_cond(int a, int b, int c, int d) { if (a) return through(a + 1, b, c, d); return b; }
#ifndef __clang__
N int far_nested(int n) {
	int k = n;
	N int far_add(int i) { return i + k; }
	N int far_twice(int i) { return i ? far_add(i) : 7; }
	return far_add(n) * far_twice(n);
}
#else
N int far_nested(int n) { return n; }
#endif
