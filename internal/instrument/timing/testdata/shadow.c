/* A runtime of mode spike that checks what calls it: every entry pushes its
 * stack pointer and a stamp of its own on a stack, and every exit, all of which
 * are slow here, must find them. What an exit or an entry finds below itself was
 * left by an exception, by longjmp, or by a call that did not return.
 * At the end it writes: entries, exits, frames left in another way, frames still
 * open, errors, and each pair of an entry and an exit that met. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((visibility("hidden"))) char *__cairn_base;
__attribute__((visibility("hidden"))) const char __cairn_link_with_cairn_cc_timed = 0;

typedef uintptr_t word;
struct frame { word sp, site; uint32_t stamp; };
static struct frame *frames; /* from 1 */
static long top, entries, exits, unwound, errors;
enum { PAIRS = 1 << 16, DEPTH = 1 << 20 };
static word (*pairs)[2];

static uint32_t *clock_word(void) { return (uint32_t *)(__cairn_base - 64); }

__attribute__((visibility("hidden"), used)) void entered(word site, word sp)
{
	while (top > 0 && frames[top].sp <= sp) {
		top--;
		unwound++;
	}
	entries++;
	uint32_t *stamp = (uint32_t *)(__cairn_base + (uint32_t)sp);
	if (*stamp != *clock_word() || top + 1 == DEPTH)
		errors++;
	++*clock_word(); /* the next stamp is another */
	frames[++top] = (struct frame){ sp, site, *stamp };
}

__attribute__((visibility("hidden"), used)) void left(word site, word sp)
{
	while (top > 0 && frames[top].sp < sp) {
		top--;
		unwound++;
	}
	exits++;
	struct frame *f = &frames[top];
	if (top == 0 || f->sp != sp || f->stamp != *(uint32_t *)(__cairn_base + (uint32_t)sp)) {
		errors++;
		return;
	}
	top--;
	word *pair = pairs[(f->site * 31 + site) % PAIRS];
	while (pair[0] && (pair[0] != f->site || pair[1] != site))
		pair = pair == pairs[PAIRS - 1] ? pairs[0] : pair + 2;
	pair[0] = f->site;
	pair[1] = site;
}

static void report(void)
{
	FILE *out = fopen(getenv("SHADOW"), "w");
	fprintf(out, "%ld %ld %ld %ld %ld\n", entries, exits, unwound, top, errors);
	for (int i = 0; i < PAIRS; i++)
		if (pairs[i][0])
			fprintf(out, "%lx %lx\n", (long)pairs[i][0], (long)pairs[i][1]);
	fclose(out);
}

void _Exit(int code)
{
	report();
	_exit(code);
}

static void *map(size_t size)
{
	void *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		abort();
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static void start(void)
{
	__cairn_base = (char *)map((1ul << 32) + 8192) + 4096;
	frames = map(DEPTH * sizeof *frames);
	pairs = map(PAIRS * sizeof *pairs);
	*clock_word() = 1;
	*(uint32_t *)(__cairn_base - 60) = 0xc0000000; /* every call is long */
	atexit(report);
}
__attribute__((section(".preinit_array"), used)) static void (*const starts)(void) = start;

/* SP+8 is the stack pointer of the frame at its entry, in both. */
#define KEEP(name, to)                                                          \
	".globl " name "\n.hidden " name "\n" name ":\n"                        \
	"\t.cfi_startproc\n\tpushq %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 6, -16\n" \
	"\tmovq %rsp, %rbp\n\t.cfi_def_cfa_register 6\n"                        \
	"\tpushq %rax\n\tpushq %rcx\n\tpushq %rdx\n\tpushq %rsi\n\tpushq %rdi\n"  \
	"\tpushq %r8\n\tpushq %r9\n\tpushq %r10\n\tpushq %r11\n"                \
	"\tmovq 8(%rbp), %rdi\n\tleaq 16(%rbp), %rsi\n\tandq $-16, %rsp\n\tcall " to "\n" \
	"\tleaq -72(%rbp), %rsp\n"                                              \
	"\tpopq %r11\n\tpopq %r10\n\tpopq %r9\n\tpopq %r8\n\tpopq %rdi\n\tpopq %rsi\n" \
	"\tpopq %rdx\n\tpopq %rcx\n\tpopq %rax\n\tpopq %rbp\n\t.cfi_def_cfa 7, 8\n\tret\n\t.cfi_endproc\n"

__asm__(".text\n" KEEP("__cairn_entered", "entered") KEEP("__cairn_slow", "left"));
#ifdef __x86_64__
__asm__(".globl __cairn_arrived\n.hidden __cairn_arrived\n__cairn_arrived: ret");
#endif
