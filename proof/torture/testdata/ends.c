/* It ends by abort, after a handler that runs, as gcc's tests do when they fail. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void caught(int n)
{
	static const char text[] = "caught\n";
	if (n == SIGABRT && write(1, text, sizeof text - 1) < 0)
		_exit(1);
}

static int __attribute__((noinline)) fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(void)
{
	signal(SIGABRT, caught);
	if (fib(20) != 6765)
		return 1;
	fflush(stdout);
	abort();
}
