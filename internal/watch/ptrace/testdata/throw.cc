// Exceptions unwind through functions with and without breakpoints; one crosses
// a signal handler's frame.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <stdexcept>

struct Guard {
	const char *name;
	~Guard();
};
static int closed;
__attribute__((noinline)) Guard::~Guard() { closed++; }
__attribute__((noinline)) static void deep(int n) {
	Guard g{"deep"};
	if (n == 0)
		throw std::runtime_error("bottom");
	deep(n - 1);
}
static sigjmp_buf from_fault;
__attribute__((noinline)) static void on_fault(int) {
#ifdef __clang__ // has no exceptions from faults
	siglongjmp(from_fault, 1);
#else
	throw 42;
#endif
}
static sigjmp_buf back;
__attribute__((noinline)) static void on_own_fault(int) { siglongjmp(back, 1); }

int main() {
	int caught = 0;
	try {
		deep(3);
	} catch (const std::exception &) {
		caught++;
	}
	std::signal(SIGSEGV, on_fault);
	try {
		if (sigsetjmp(from_fault, 1) == 0)
			*(volatile int *)8 = 1;
		else
			throw 42;
	} catch (int) {
		caught++;
	}
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &set, nullptr);
	std::signal(SIGSEGV, on_own_fault);
	if (sigsetjmp(back, 1) == 0)
		*(volatile char *)(void *)&main = 1; // code cannot be written
	else
		caught++;
	std::printf("%d %d\n", caught, closed);
	return 0;
}
