/* Stacks on which detours replace return addresses, see coff_detour.c. Without CAIRN_DETOURS there are none. */
#ifdef CAIRN_DETOURS

enum { MIRRORS = 1024, STUB_SIZE = 32 };

/* What is known of a stack. Of a call whose caller has the stack pointer s behind it, at s + delta is what the frame of an interrupt
 * would have: the return address, and three words behind it s. At s + delta + second is where its trampoline continues. */
struct mirror {
  u64 base, low, size; /* of the stack; size 0: its calls are not timed */
  u64 delta, second;
  u64 stub;   /* that its calls return to */
  u64 raised; /* something may have left calls */
  u64 total;  /* bytes of its memory */
};
_Static_assert(sizeof(struct mirror) == 64, "the stubs of coff_detour.c");

__attribute__((used)) struct mirror __cairn_mirrors[MIRRORS];
extern const u8 __cairn_stubs[];

/* stub_of returns the stack of a stub that begins at pc, 0 if none does. */
static struct mirror *stub_of(u64 pc) {
  u64 at = pc - (u64)__cairn_stubs;
  return at < MIRRORS * STUB_SIZE && at % STUB_SIZE == 0 ? &__cairn_mirrors[at / STUB_SIZE] : 0;
}

/* original returns the return address that a stub at pc replaces, of a call whose caller has the stack pointer sp; pc if it is none. */
static u64 original(u64 pc, u64 sp) {
  const struct mirror *m = stub_of(pc);
  return m && m->size && sp - m->low <= m->size ? *(volatile const u64 *)(sp + m->delta) : pc;
}

/* read_original replaces a return address by the original. It is for code that must not cause exceptions: the memory may not be there. */
static void read_original(u64 *pc, u64 sp) {
  const struct mirror *m = stub_of(*pc);
  u64 v;
  if (m && m->size && sp - m->low <= m->size && ReadProcessMemory((void *)-1, (const void *)(sp + m->delta), &v, sizeof v, 0)) *pc = v;
}

static int in_mirror(u64 at) {
  for (const struct mirror *m = __cairn_mirrors; m < __cairn_mirrors + MIRRORS; m++)
    if (m->total && at - (m->low + m->delta) < m->total) return 1;
  return 0;
}

/* identity_of returns the identity of a loaded module, 0 if it has none: that of its plan, which is made from the whole file, if the file
 * has none. */
static const struct codeview *identity_of(const u8 *base);
static int is_hooked(u64 function);
static u64 moved_from(u64 pc);
static void note_raised(void);

#else

static const struct codeview *identity_of(const u8 *base) { return find_id(base); }
static u64 original(u64 pc, u64 sp) { return pc; }
static int in_mirror(u64 at) { return 0; }
static u64 moved_from(u64 pc) { return 0; }
static void note_raised(void) {}

#endif
