/* The first call of a function, in runtimes that are one object: for Mach-O and COFF. Package probe writes the probes and
 * their stubs; first_x86_64.S and first_aarch64.S show them. */

static void first_count(u8 *record, i32 full, u64 from) {
  u32 *order = (u32 *)(record + CAIRN_ORDER_OFFSET), none = 0;
  if (!*(volatile u32 *)order && __atomic_compare_exchange_n(order, &none, __atomic_add_fetch(&sequence, 1, __ATOMIC_RELAXED), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    if (full) {
      i64 distance = (i64)(from - (u64)record);
      *(i32 *)(record + CAIRN_CALLER_OFFSET) = distance == (i32)distance ? (i32)distance : (i32)CAIRN_CALLER_OUTSIDE;
    }
    return;
  }
  __atomic_or_fetch(order, CAIRN_ORDER_INEXACT, __ATOMIC_RELAXED);
}

static void first_order(u8 *record) {
  u32 room = slot_count();
  if (__atomic_exchange_n(record, 1, __ATOMIC_RELAXED) || !room) return;
  ring[__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) % room] = (u32)(record - raw_start) + 1;
}

#if __x86_64__

/* record_of finds the record of the function whose stub called: jmp is the instruction after the
 * call, and far are the first bytes of a branch of six bytes to the stub. */
static u8 *record_of(const u8 *jmp, u16 far) {
  const u8 *back = *jmp == 0xeb ? jmp + 2 + (signed char)jmp[1] : jmp + 5 + *(const i32 *)(jmp + 1);
  const u8 *stub = jmp - 5;
  const u8 *end = *(const i32 *)(back - 4) == stub - back && *(const u16 *)(back - 6) == far ? back - 6 : back - 2;
  return (u8 *)end + *(const i32 *)(end - 5);
}

enum { JC = 0x820f, JE = 0x840f };

#endif
