#include <stdio.h>
#define N __attribute__((noinline))
typedef int (*six)(int, int, int, int);
extern six volatile through;
N int far_leaf(int a, int b, int c, int d);
int far_nested(int n), far_tail(int, int, int, int), far_cond(int, int, int, int);
N int near_tail(int a, int b, int c, int d) { return through(a + 1, b, c, d); }
N int near_sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += far_leaf(i, 2, 3, 4) + near_tail(i, 1, 2, 3); return s; }
#ifndef __clang__
N int near_nested(int n) {
	int k = n;
	N int near_add(int i) { return i + k; }
	N int near_twice(int i) { return i ? near_add(i) : 7; }
	return near_add(n) * near_twice(n);
}
#else
N int near_nested(int n) { return n; }
#endif
int main(void)
{
	int s = near_sum(10);
	for (int i = 0; i < 5; i++) s += near_nested(i) + far_nested(i) + far_tail(i, 1, 2, 3) + far_cond(i & 1, i, 2, 3);
	printf("%d\n", s);
}
