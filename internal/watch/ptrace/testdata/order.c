/* A known order of first executions: constructor, main, then by name. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

__attribute__((constructor)) static void built(void) { sink = 1; }
NOINLINE static void third(void) { sink = 3; }
NOINLINE static void second(void) { sink = 2; third(); }
NOINLINE static void first(void) { sink = 1; second(); second(); }
NOINLINE void never(void) { sink = 99; }
NOINLINE static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
NOINLINE static void on_signal(int n) { sink = n; }
NOINLINE static void on_trap(int n) { sink = n; }
NOINLINE static void at_end(void) { sink = 7; }

/* Its own breakpoint is its first instruction. */
void own(void);
__asm__(".text\n.globl own\n.type own,@function\nown: int3\n ret\n.size own,.-own\n"
        ".globl data_in_text\ndata_in_text: .quad 0x1122334455667788\n");
extern const unsigned long data_in_text;

NOINLINE static int chosen(int x) { return x + 1; }
static int (*resolve(void))(int) { return chosen; }
int by_resolver(int) __attribute__((ifunc("resolve")));
__attribute__((alias("aliased"))) void another_name(void);
NOINLINE void aliased(void) { sink = 8; }

int main(int argc, char **argv) {
	int v[] = {3, 1, 2};
	atexit(at_end);
	first();
	qsort(v, 3, sizeof v[0], compare);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	if (argc < 3) { /* a third argument: nothing that single steps disturb */
		signal(SIGTRAP, on_trap);
		own();
		own();
		raise(SIGTRAP);
	}
	another_name();
	sink = by_resolver(1);
	if (data_in_text != 0x1122334455667788)
		return 99;
	printf("%d %d %d of %d\n", v[0], v[1], v[2], argc);
	return argc > 1 ? atoi(argv[1]) : 0;
}
