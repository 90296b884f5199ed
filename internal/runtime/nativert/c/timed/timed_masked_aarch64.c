/* A window that is smaller than 4 GiB needs the stack pointer masked; see timed_masked_x86_64.c.
 * The code in all functions,
 *
 *      adrp  x16, __cairn_base
 *      ldr   x16, [x16, :lo12:__cairn_base]
 *      add   wN, wsp, IMM
 *
 * has no room for a mask, and no register for calling a routine. So such a window begins at a
 * multiple of 4 GiB (timed_window.c), which one instruction can load:
 *
 *      movz  x16, BASE, lsl 32
 *      add   wN, wsp, IMM
 *      and   wN, wN, MASK                      movz wN, 0 if all calls have one slot */

#include "timed.h"
#include "elf.h"

enum { PF_X = 1, WORDS = 3 };

extern const struct ehdr header __asm__("__ehdr_start") HIDDEN __attribute__((weak));
__asm__(".hidden __ehdr_start\n");

/* replaces sets the replacement of three instructions, if they are inserted ones. */
static int replaces(u32 *to, const u32 *at, struct process *p) {
  u32 add = at[2], n = add & 31;
  if ((add & 0xffc003e0u) != 0x110003e0u || (at[0] & 31) != 16 || (at[1] & 31) != 16) return 0;
  if (refers_to((const u8 *)at, (u64)at) != (u64)&__cairn_base) return 0;
  to[0] = LOAD_BASE | (u32)((u64)p->base >> 32) << 5;
  to[1] = add;
  to[2] = p->mask ? 0x12000000u | (u32)(31 - __builtin_clz(p->mask)) << 10 | n << 5 | n : 0x52800000u | n;
  return 1;
}

/* mask_segment changes the code in [at, end); it returns 0 if that is not permitted. */
static int mask_segment(struct process *p, i64 fd, const u32 *at, const u32 *end) {
  u32 code[WORDS];
  for (; at + WORDS <= end; at++)
    if (replaces(code, at, p) && sys4(SYS_pwrite, fd, code, sizeof code, at) != sizeof code) return 0;
  return 1;
}

static int mask_module(struct process *p) {
  if (!&header || header.phentsize != sizeof(struct phdr)) return 0;
  const struct phdr *ph = (const struct phdr *)((const u8 *)&header + header.phoff);
  u64 low = NONE;
  int ok = 1;
  for (u32 i = 0; i < header.phnum; i++)
    if (ph[i].type == PT_LOAD) low = least(low, ph[i].vaddr & -(u64)ph[i].align);
  i64 fd = open_file("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  for (u32 i = 0; i < header.phnum && ok; i++) {
    const u8 *at = (const u8 *)&header - low + ph[i].vaddr;
    if (ph[i].type == PT_LOAD && ph[i].flags & PF_X) ok = mask_segment(p, fd, (const u32 *)(((u64)at + 3) & ~3ul), (const u32 *)(at + ph[i].filesz));
  }
  sys1(SYS_close, fd);
  return ok;
}

/* masked changes this module's code. On failure it ends the process, as the code would write beyond
 * the window. Instrumented functions are recognized by what they refer to (timed_stack.c): after
 * this, the window. */
void __cairn_masked(struct process *p) {
  static const char message[] =
      "cairn: this program was built to time its calls with 4 GiB of address space, which it cannot reserve here, and its "
      "code cannot be changed to need less: raise the limit (ulimit -v unlimited), or build it without cairn\n";
  if (!mask_module(p)) {
    __cairn_print(message, sizeof message - 1);
    sys1(SYS_exit_group, 127);
  }
  __cairn_add_base(p, p->base);
}
