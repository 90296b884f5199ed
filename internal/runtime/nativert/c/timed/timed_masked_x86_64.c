/* A window that is smaller than 4 GiB needs the stack pointer masked. Inserted code does not do
 * that, as all programs would pay for what few need. So in a process with such a window each module
 * changes its own code when it starts:
 *
 *      movq    __cairn_base(%rip), REG         7 bytes
 *      movl    %esp, %r11d                     3 bytes
 *
 * becomes a call of a routine that does the same with a mask (timed_stub_x86_64.S) and an
 * instruction that does nothing. The ten bytes are recognized by their encoding and by a
 * displacement that leads to this module's __cairn_base: no other code has both. Code around them
 * keeps nothing where the call stores its return address in the red zone.
 *
 * The bytes are written through /proc/self/mem. So no page of code is ever writable, and this code
 * may itself be among the changed code. It runs before any of that code: by .preinit_array in an
 * executable, by the first constructor in a library. */

#include "timed.h"
#include "elf.h"

enum { PF_X = 1, SITE = 10 };

extern const struct ehdr header __asm__("__ehdr_start") HIDDEN __attribute__((weak));
__asm__(".hidden __ehdr_start\n");
extern const u8 __cairn_masked_rax[] HIDDEN, __cairn_masked_rcx[] HIDDEN, __cairn_masked_r10[] HIDDEN;

u32 __cairn_mask;

/* routine_for returns the routine for the ten bytes at a place, or 0. */
static const u8 *routine_for(const u8 *at) {
  if (at[1] != 0x8b || at[7] != 0x41 || at[8] != 0x89 || at[9] != 0xe3) return 0;
  if ((u64)at + 7 + (u64)(i64) * (const i32 *)(at + 3) != (u64)&__cairn_base) return 0;
  if (at[0] == 0x4c && at[2] == 0x15) return __cairn_masked_r10;
  if (at[0] == 0x48 && at[2] == 0x05) return __cairn_masked_rax;
  if (at[0] == 0x48 && at[2] == 0x0d) return __cairn_masked_rcx;
  return 0;
}

/* mask_segment changes the code in [at, end); it returns 0 if that is not permitted. */
static int mask_segment(i64 fd, const u8 *at, const u8 *end) {
  for (; at + SITE <= end; at++) {
    const u8 *routine = routine_for(at);
    if (!routine) continue;
    u8 code[SITE] = {0xe8, 0, 0, 0, 0, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    i32 distance = (i32)(routine - (at + 5));
    copy(code + 1, &distance, sizeof distance);
    if (sys4(SYS_pwrite, fd, code, SITE, at) != SITE) return 0;
    at += SITE - 1;
  }
  return 1;
}

static int mask_module(void) {
  if (!&header || header.phentsize != sizeof(struct phdr)) return 0;
  const struct phdr *ph = (const struct phdr *)((const u8 *)&header + header.phoff);
  u64 low = NONE;
  int ok = 1;
  for (u32 i = 0; i < header.phnum; i++)
    if (ph[i].type == PT_LOAD) low = least(low, ph[i].vaddr & ~4095ul);
  i64 fd = open_file("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  for (u32 i = 0; i < header.phnum && ok; i++) {
    const u8 *at = (const u8 *)&header - low + ph[i].vaddr;
    if (ph[i].type == PT_LOAD && ph[i].flags & PF_X) ok = mask_segment(fd, at, at + ph[i].filesz);
  }
  sys1(SYS_close, fd);
  return ok;
}

/* masked changes this module's code. On failure it ends the process, as the code would write beyond
 * the window. Instrumented functions are recognized by what they refer to (timed_stack.c): after
 * this, the routines. */
void __cairn_masked(struct process *p) {
  static const char message[] =
      "cairn: this program was built to time its calls with 4 GiB of address space, which it cannot reserve here, and its "
      "code cannot be changed to need less: raise the limit (ulimit -v unlimited), or build it without cairn\n";
  __cairn_mask = p->mask;
  if (!mask_module()) {
    __cairn_print(message, sizeof message - 1);
    sys1(SYS_exit_group, 127);
  }
  __cairn_add_base(p, __cairn_masked_rax);
  __cairn_add_base(p, __cairn_masked_rcx);
  __cairn_add_base(p, __cairn_masked_r10);
}
