// What compilers write for AArch64 only, or in another way there.
extern __thread int local;
int f(int), g(int);

int inlined(int n)
{
	int out = 0;
	__asm__("cmp %w1, #3\n\tb.lt 1f\n\tmov %w0, #7\n1:" : "+r"(out) : "r"(n) : "cc");
	return out ? f(out) : g(n);
}

int gone(int n)
{
	__asm__ goto("tbnz %w0, #31, %l1" : : "r"(n) : : yes);
	return f(n) + g(n + 1);
yes:
	return g(n) - f(2);
}

int computed(const unsigned char *code)
{
	static void *const to[] = {&&add, &&sub, &&end};
	int n = 0;
	goto *to[*code++];
add:
	n += f(n);
	goto *to[*code++];
sub:
	n -= g(n) * 3;
	goto *to[*code++];
end:
	return n;
}

int thread(int n)
{
	if (n & 32)
		local += f(n) + g(n);
	return n > 3 ? local : f(local) - g(3);
}

// Registers x16 and x17 hold something across branches.
long busy(long n)
{
	register long a __asm__("x16") = n * 3, b __asm__("x17") = n + 1;
	__asm__("" : "+r"(a), "+r"(b));
	if (n & 4)
		a ^= b << 3, b += a * 7;
	else
		b = b * 5 - a, a -= b >> 2;
	__asm__("" : "+r"(a), "+r"(b));
	return a - b;
}
