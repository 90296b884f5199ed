/* A runtime of mode spike for which no call is long. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((visibility("hidden"))) char *__cairn_base;
__attribute__((visibility("hidden"))) const char __cairn_link_with_cairn_cc_timed = 0;
__attribute__((visibility("hidden"))) void __cairn_slow(void) { abort(); }
__attribute__((visibility("hidden"))) void __cairn_arrived(void) {}

static void start(void)
{
	unsigned long size = (1ul << 32) + 8192;
	char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		abort();
	madvise(p, size, MADV_NOHUGEPAGE);
	__cairn_base = p + 4096;
	*(uint32_t *)(__cairn_base - 64) = 1;
	*(uint32_t *)(__cairn_base - 60) = 0x7fffffff;
}
__attribute__((section(".preinit_array"), used)) static void (*const starts)(void) = start;
