/* Code of a library that records nothing, as its runtime cannot be loaded. In mode spike the state of
 * the process is enough for that. In the other modes inserted code uses what each thread has, at a
 * distance from the thread pointer that is the same in all threads; without the host nobody has that.
 * So the library changes its own code when it starts: it adds nothing to the distance, which is the
 * address of a variable then. All threads share that; what they store there is never read for a log. */
#ifndef CAIRN_PLAIN_H
#define CAIRN_PLAIN_H

enum { PF_X = 1, PROT_EXEC = 4 };
extern u64 __cairn_local HIDDEN;

/* write changes code, through a descriptor of the process's memory or, if fd is negative, in memory
 * that is writable. */
static int write_code(i64 fd, u8 *at, const void *code, u64 n) {
  if (fd >= 0) return sys4(SYS_pwrite, fd, code, n, at) == (i64)n;
  copy(at, code, n);
  return 1;
}

#ifdef __x86_64__

/* The prefix %fs: becomes %ds:, which has no effect. */
static const u8 segment_ds = 0x3e;

/* is_access reports whether an instruction accesses %fs:(REG) or %fs:DISP8(REG). */
static int is_access(const u8 *at, const u8 *end, u32 reg) {
  return at + 6 <= end && at[0] == 0x64 && (at[1] & 0xf0) == 0x40 && (at[1] & 1u) == reg >> 3 && at[3] < 0x80 && (at[3] & 7u) == (reg & 7);
}

/* without_threads changes the inserted code at a place, if it is
 *
 *      movq    __cairn_local(%rip), REG
 *
 * and what follows: one access, two of an event of mode trace, five of one of the flight recorder.
 * Between these are a few instructions. */
static int without_threads(i64 fd, u8 *at, u8 *end) {
  enum { LOAD = 7, NEXT = 24 };
  if (at + LOAD > end || (at[0] & 0xfb) != 0x48 || at[1] != 0x8b || (at[2] & 0xc7) != 5) return 1;
  if ((u64)at + LOAD + (u64)(i64) * (const i32 *)(at + 3) != (u64)&__cairn_local) return 1;
  u32 reg = (at[2] >> 3 & 7u) | (at[0] & 4u) << 1, more = 0;
  u8 *next = at + LOAD;
  if (!is_access(next, end, reg)) return 1; /* of the runtime */
  if (next[2] == 0x39) more = 4;
  else if (next[2] == 0x8b && next[1] & 4 && (next[3] & 0x38) == 3 << 3) more = 1; /* to %r11 */
  for (;; more--) {
    u8 *last = next;
    if (!write_code(fd, next, &segment_ds, 1)) return 0;
    if (!more) return 1;
    for (next += 4; next < last + NEXT && !is_access(next, end, reg); next++) {
    }
    if (next == last + NEXT) return 0;
  }
}

INLINE void changed(const u8 *at, u64 n) { (void)at, (void)n; }

#else

/* without_threads replaces the last of
 *
 *      adrp    REG, __cairn_local
 *      ldr     REG, [REG, :lo12:__cairn_local]
 *      mrs     OTHER, tpidr_el0                     mov OTHER, xzr */
static int without_threads(i64 fd, u8 *at, u8 *end) {
  u32 *code = (u32 *)at, zero;
  if ((u64)at & 3 || at + 12 > end || (code[2] & ~31u) != 0xd53bd040u || refers_to(at, (u64)at) != (u64)&__cairn_local) return 1;
  zero = 0xaa1f03e0u | (code[2] & 31);
  return write_code(fd, (u8 *)&code[2], &zero, 4);
}

/* changed lets the processor fetch changed code. */
static void changed(const u8 *at, u64 n) {
  for (u64 i = 0; i < n; i += 16) __asm__ volatile("dc cvau, %0" : : "r"(at + i) : "memory");
  __asm__ volatile("dsb ish" : : : "memory");
  for (u64 i = 0; i < n; i += 16) __asm__ volatile("ic ivau, %0" : : "r"(at + i) : "memory");
  __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

#endif

/* change_segment changes the code in [at, end), and returns whether it could. Without /proc the code
 * becomes writable meanwhile. */
static int change_segment(i64 fd, u8 *at, u8 *end) {
  u8 *from = (u8 *)((u64)at & -(u64)page_size());
  int ok = 1;
  if (fd < 0 && sys3(SYS_mprotect, from, end - from, PROT_RW | PROT_EXEC) < 0) return 0;
  for (u8 *p = at; p < end && ok; p++) ok = without_threads(fd, p, end);
  if (fd >= 0) return ok;
  sys3(SYS_mprotect, from, end - from, 1 | PROT_EXEC);
  changed(at, (u64)(end - at));
  return ok;
}

static int change_module(i64 fd, const struct ehdr *e) {
  const struct phdr *ph = (const struct phdr *)((const u8 *)e + e->phoff);
  u64 low = NONE;
  int ok = 1;
  for (u32 i = 0; i < e->phnum; i++)
    if (ph[i].type == PT_LOAD) low = least(low, ph[i].vaddr & -(u64)ph[i].align);
  for (u32 i = 0; i < e->phnum && ok; i++) {
    u8 *at = (u8 *)e - low + ph[i].vaddr;
    if (ph[i].type == PT_LOAD && ph[i].flags & PF_X) ok = change_segment(fd, at, at + ph[i].filesz);
  }
  return ok;
}

/* make_plain makes this module's code plain, and returns whether it could. */
static int make_plain(const struct ehdr *e) {
  i64 fd = open_file("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
  int ok = fd >= 0 && change_module(fd, e);
  if (fd >= 0) sys1(SYS_close, fd);
  return ok || change_module(-1, e);
}

#endif
