/* The calls between mapped_MACHINE.S, in the module, and rt.c in a runtime that is a file. The
 * file's name contains a digest of it, so that both are of the same build.
 *
 * The first byte of the file is enter. The space after the file's end, up to CAIRN_IMAGE_ROOM, is
 * for variables: the module maps it with the file, and start maps memory over it. */

#define CAIRN_IMAGE_ROOM IMAGE_ROOM

/* What a module says of a file that it cannot map, before the file's path and behind it. */
#define CAIRN_MAP_FAILURE "cairn: nothing is recorded, cannot map \n"
#define sizeof_failure 39

/* Numbers of the calls: the second argument. */
#define CAIRN_LOST 0
#define CAIRN_DUMP 1
#define CAIRN_RESET 2
#define CAIRN_DUMP_ALL 3
#define CAIRN_RESET_ALL 4
#define CAIRN_START 5
#define CAIRN_FINISH 6
#define CAIRN_DIR 7
#define CAIRN_WHERE 8
#define CAIRN_DIR_ALL 9

#if CAIRN_MAPPED

/* The bounds of the variables. The linker's script sets them. */
extern u8 image_start[] HIDDEN, bss_start[] HIDDEN, bss_stop[] HIDDEN;

/* attach reads the module's tables. The table has distances from itself to objects, or to pointers
 * to them. Order has such a table too, relative to its own start, or is 0. */
static void attach(const i32 *table, const struct ehdr *header, const i32 *order, void *dso_handle) {
  u8 *at = (u8 *)table;
  raw_start = at + table[0];
  raw_stop = at + table[1];
  module.order = (u32 *)(at + table[2]);
  module.room = at + table[3];
  raw_used = at + table[4];
  module.iterate = *(void **)(at + table[5]);
  module.atfork = *(void **)(at + table[6]);
  module.threads = *(void **)(at + table[7]);
#if !GLIBC
  module.environment = *(void **)(at + table[8]);
#endif
  module.header = header;
  module.handle = dso_handle;
  if (order) {
    at = (u8 *)order;
    order_start = at + order[0];
    order_stop = at + order[1];
    module.next = (u32 *)(at + order[2]);
    module.ring = (const u32 *)(at + order[3]);
    order_used = at + order[4];
  }
}

/* enter is the file's first byte. Call start returns where the file is mapped, or 0 if it is not
 * needed. Call finish returns how many bytes to unmap: those of a library, unless other threads
 * exist, which may run in it when the process ends. */
__attribute__((section(".text.enter"), used)) long enter(uword at, u32 call, char **envp, const struct ehdr *header,
                                                         const i32 *order, void *dso_handle) {
  switch (call) {
  case CAIRN_START:
    if (map(bss_start, (uword)(bss_stop - bss_start), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) < 0) return 0;
    attach((const i32 *)at, header, order, dso_handle);
    start(0, 0, envp);
    return (long)image_start;
  case CAIRN_DUMP:
    return __cairn_dump_module(at);
  case CAIRN_RESET:
    return __cairn_reset_module(at);
  case CAIRN_LOST:
    return __cairn_lost_module(at);
  case CAIRN_DIR:
    return __cairn_dir_module(at);
  case CAIRN_WHERE:
    return __cairn_where_module(at);
  case CAIRN_DIR_ALL:
    return __cairn_set_dir((const char *)at);
  case CAIRN_DUMP_ALL:
    return __cairn_dump();
  case CAIRN_RESET_ALL:
    __cairn_reset();
    return 0;
  default:
    finish();
    return !st.main && single() ? CAIRN_IMAGE_ROOM : 0;
  }
}

#endif
