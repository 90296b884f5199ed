/* A process without a window, as one in which 4 GiB of addresses cannot be reserved, or without the memory for its state. It runs without
 * calls being timed: the inserted code of each module is changed before any of it has run. */

/* spare_state returns a state in this module, which has no modules. */
static struct process *spare_state(void) {
  static u8 spare[__builtin_offsetof(struct process, module)] __attribute__((aligned(64)));
  struct process *p = (struct process *)spare;
  p->failed = 1;
  return p;
}

/* use_one_slot makes the words of the window, and one slot. */
static void use_one_slot(struct process *p) {
  static u64 words[16] __attribute__((aligned(64)));
  p->base = (u8 *)(words + 8);
}

#if CAIRN_MODE == LOG_MODE_TRACE || defined CAIRN_HOOKS || defined CAIRN_DETOURS
static int leave_window(const struct process *p) { return 1; }
#else

/* What inserted code does with the base of the window in a register: it computes where the slot of its call is, or reads that. */
enum { LOAD_BASE = 7, XOR_R11 = 0xdb3145, READ_CLOCK = 0xc05a8b45, NOP = 0x90 };

/* size_of_index returns the length of the instruction behind the base's load, 0 if it is another one than inserted code has:
 *
 *      movl    %esp, %r11d
 *      leal    N(REG), %r11d
 *      movl    (%r10,%r11), %r11d      here the recorder has computed it before */
static u32 size_of_index(const u8 *i) {
  enum { STACK = 0xe38941, SLOT = 0x1a1c8b47, SIB = 4 };
  if ((*(const u32 *)i & 0xffffff) == STACK) return 3;
  if (*(const u32 *)i == SLOT) return 4;
  if ((*i != 0x44 && *i != 0x45) || i[1] != 0x8d || (i[2] >> 3 & 7) != 3) return 0;
  return 3 + ((i[2] & 7) == SIB) + (i[2] >> 6 == 1) + 4 * (i[2] >> 6 == 2);
}

/* change_index changes an instruction of that length: all calls have the first slot, and none is slow by it. */
static void change_index(u8 *i, u32 size) {
  u32 to = i[0] == 0x47 ? READ_CLOCK : XOR_R11 | NOP << 24;
  for (u32 k = 0; k < size; k++) i[k] = k < 4 ? (u8)(to >> 8 * k) : NOP;
}

/* change_code changes the inserted code between two addresses, and reports whether it knew all of it. */
static int change_code(u8 *at, const u8 *end, int write) {
  enum { REX_W = 0x48, REX_WR = 0x4c, LOAD = 0x8b, RIP = 5, LONGEST = 8 };
  for (; at + LOAD_BASE + LONGEST <= end; at++) {
    if ((*at != REX_W && *at != REX_WR) || at[1] != LOAD || (at[2] & 0xc7) != RIP) continue;
    if (at + LOAD_BASE + *(const i32 *)(at + 3) != (const u8 *)&__cairn_base) continue;
    u32 size = size_of_index(at + LOAD_BASE);
    if (!size) return 0;
    if (write) change_index(at + LOAD_BASE, size);
  }
  return 1;
}

IMPORT(i32, VirtualProtect, void *, u64, u32, u32 *);

/* leave_window makes the inserted code of this module use the first slot of the window for all calls, and reports whether it could. The
 * runtime's own code is among it, so the pages stay executable. */
static int leave_window(const struct process *p) {
  enum { EXECUTABLE = 0x20000000, PAGE_RWX = 0x40 };
  const u8 *o = optional(__ImageBase);
  const struct section *s = (const struct section *)(o + *(const u16 *)(o - 4));
  if (p->mask) return 1;
  for (u32 n = *(const u16 *)(o - 18); n--; s++) {
    u8 *at = (u8 *)__ImageBase + s->addr;
    u32 was;
    if (!(s->flags & EXECUTABLE)) continue;
    if (!change_code(at, at + s->size, 0) || !VirtualProtect(at, s->size, PAGE_RWX, &was)) return 0;
    change_code(at, at + s->size, 1);
    if (!VirtualProtect(at, s->size, was, &was)) return 0;
  }
  return 1;
}
#endif
