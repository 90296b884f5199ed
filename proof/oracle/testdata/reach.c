// Code with references of limited reach, which probes push apart.
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

volatile int sink;

// MANY is a sequence of blocks that stays in the order of the source.
#define ONE(x, k)                    \
	if (((x) ^ sink) & (1 << (k) % 13)) \
		sink += (k);
#define TEN(x, k)                                                                                           \
	ONE(x, k) ONE(x, k + 1) ONE(x, k + 2) ONE(x, k + 3) ONE(x, k + 4) ONE(x, k + 5) ONE(x, k + 6) ONE(x, k + 7) \
		ONE(x, k + 8) ONE(x, k + 9)
#define MANY(x, k) TEN(x, k) TEN(x, k + 10) TEN(x, k + 20) TEN(x, k + 30) TEN(x, k + 40)

// A branch to a block that is up to 126 bytes after it: cbz.
NOINLINE int near_branch(int n) {
	if (n != 0) {
		ONE(n, 1) ONE(n, 2) ONE(n, 3)
	}
	return n + 1;
}

// A table of bytes in the text: tbb.
NOINLINE int byte_table(int n, int m) {
	switch (n) {
	case 0: ONE(m, 1) ONE(m, 2) return 7;
	case 1: ONE(m, 3) ONE(m, 4) return m * 3;
	case 2: ONE(m, 5) ONE(m, 6) return 4;
	case 3: ONE(m, 7) ONE(m, 8) return m - 7;
	case 4: ONE(m, 9) ONE(m, 1) return m / 11;
	case 5: ONE(m, 2) ONE(m, 3) return m ^ 99;
	}
	return m;
}

// A table of halfwords: tbh.
NOINLINE int half_table(int n, int m) {
	switch (n) {
	case 0: TEN(m, 1) return 7;
	case 1: TEN(m, 3) return m * 3;
	case 2: TEN(m, 5) return 4;
	case 3: TEN(m, 7) return m - 7;
	case 4: TEN(m, 9) return m / 11;
	case 5: TEN(m, 2) return m ^ 99;
	}
	return m;
}

#ifdef FAR
#define MORE(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k) MANY(x, k)
// With probes the cases are out of the reach of halfwords as well.
NOINLINE int far_table(int n, int m) {
	switch (n) {
	case 0: MORE(m, 1) return 7;
	case 1: MORE(m, 3) return m * 3;
	case 2: MORE(m, 5) return 4;
	case 3: MORE(m, 7) return m - 7;
	case 4: MORE(m, 9) return m / 11;
	}
	return m;
}
#endif

#ifdef FARTHER
// On AArch64 a branch on a bit, tbz, reaches 32 KiB.
NOINLINE int far_branch(int n, int m) {
	if (n & 4) { // far
		MANY(m, 1) MANY(m, 2) MANY(m, 3) MANY(m, 4) MANY(m, 5) MANY(m, 6) MANY(m, 7) MANY(m, 8) MANY(m, 9) MANY(m, 10)
		MANY(m, 1) MANY(m, 2) MANY(m, 3) MANY(m, 4) MANY(m, 5) MANY(m, 6) MANY(m, 7) MANY(m, 8) MANY(m, 9) MANY(m, 10)
	}
	return n;
}
#endif

// Literals of both kinds after a long function, and in the midst of it.
NOINLINE double pools(int n, double x) {
	if (n & 1)
		x = x * 3.14159265358979 + 2.71828182845905;
	MANY(n, 1)
	if (n & 2)
		x = x * 1.41421356237309 - (double)(n ^ 0x12345678);
	MANY(n, 2)
	return x;
}

// Instructions that run under a condition: IT blocks, and no branches.
NOINLINE int conditions(int a, int b) {
	int least = a < b ? a : b, most = a < b ? b : a;
	if (a & 4)
		least = most - least;
	return most * 5 + least;
}

// Assembly of which cairn does not know the size: in a long function nothing is known to be in reach.
NOINLINE double unknown_size(int n, double x) {
	__asm__ volatile(".ifdef no_such_symbol\n\t.space 400\n\t.endif\n\tnop" ::: "memory");
	if (n & 1)
		x = x * 3.14159265358979 + 2.71828182845905;
	MANY(n, 1)
	return x * 0.57721566490153;
}

// The same in a short function: all references reach anyway, but cbz.
NOINLINE int unknown_short(int n) {
	if (n & 1)
		n += sink;
	__asm__ volatile(".ifdef no_such_symbol\n\t.space 400\n\t.endif\n\tnop" ::: "memory");
	return n;
}

// What does not run must not seem to.
NOINLINE int never(int n) { return n < 3 ? n * sink : near_branch(n); }

int main(void) {
	int sum = 0;
	double real = 0;
	for (int i = 0; i < 8; i++) {
		sum += near_branch(i) + byte_table(i - 1, i) * 3 + half_table(i, 9 * i);
		sum += conditions(i, 5) + unknown_short(i);
#ifdef FAR
		sum += far_table(i, i);
#endif
#ifdef FARTHER
		if (i != 3)
			sum += far_branch(i, 5 * i);
#endif
		real += pools(i / 2, i) + unknown_size(i, 1.5);
	}
	if (sum == 1)
		sum = never(sum);
	printf("%d %d %.9f\n", sum, sink, real);
	return 0;
}
