/* What rt.c needs to know of its module. */

#if __has_include(<gnu/libc-version.h>)
#define GLIBC 1
#else
#define GLIBC 0
#endif

struct ehdr;
struct dl_info;

#if !CAIRN_MAPPED

/* The runtime is linked into the module. The linker sets the bounds of the sections. */
extern u8 raw_start[] __asm__("__start_" CAIRN_RAW_SECTION) HIDDEN;
extern u8 raw_stop[] __asm__("__stop_" CAIRN_RAW_SECTION) HIDDEN;
/* gcc does not declare a symbol hidden that has an asm name, and ld and gold would export them. */
__asm__(".hidden __start_" CAIRN_RAW_SECTION ", __stop_" CAIRN_RAW_SECTION ", __ehdr_start\n");

/* What makes them fill whole pages, and the end of the records before that: see page_end.S. */
__asm__(".hidden __cairn_raw_end\n" KEEP("__cairn_raw_end"));
extern u8 __cairn_raw_used[] HIDDEN;
#define raw_used __cairn_raw_used

/* Room for the file's head. Each object with records has it before them, and the linker takes that of the first one: it is
 * the start of the section, unless that object comes after others in the section. */
extern u8 __cairn_room[] HIDDEN WEAK;

/* The order buffer and the variables of order_MACHINE.S. Without them the section is empty and the
 * variables are not used. */
extern u8 order_start[] __asm__("__start_" CAIRN_ORDER_SECTION) HIDDEN WEAK;
extern u8 order_stop[] __asm__("__stop_" CAIRN_ORDER_SECTION) HIDDEN WEAK;
extern u8 __cairn_order_used[] HIDDEN WEAK;
#define order_used __cairn_order_used
extern u32 __cairn_next HIDDEN WEAK;       /* first executions so far; it lies among the records */
extern const u32 __cairn_ring HIDDEN WEAK; /* slots; 0: the section's size decides */
__asm__(".hidden __start_" CAIRN_ORDER_SECTION ", __stop_" CAIRN_ORDER_SECTION "\n");

/* Referred to by instrumented objects, to be linked. */
HIDDEN const u8 __cairn_link_with_cairn_cc = 0;

/* Index of the last function that was called for the first time. */
HIDDEN u32 __cairn_order;

extern const struct ehdr elf __asm__("__ehdr_start") HIDDEN WEAK;

/* What a C library may have. glibc hands the environment to constructors, and takes
 * fork handlers away with the module they belong to. Other libraries have the usual
 * names. Each name costs a hundred bytes of tables for the dynamic linker. */
extern int dl_iterate_phdr(int (*)(struct dl_info *, uword, void *), void *) WEAK;
#if GLIBC
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) WEAK;
extern void *__dso_handle HIDDEN WEAK;
#else
extern char **environ WEAK;
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) WEAK;
#endif

#else

/* It is a file, which the module has mapped for itself alone: see mapped_x86_64.S, which
 * says at start where everything is. */
static struct {
  u8 *raw_from, *raw_to, *raw_ends, *order_from, *order_to, *order_ends, *room;
  u32 *next, *order;
  const u32 *ring;
  const struct ehdr *header;
  void *handle;
  int (*iterate)(int (*)(struct dl_info *, uword, void *), void *);
  /* of glibc: __register_atfork, __libc_single_threaded; of others: pthread_atfork,
   * pthread_create and environ */
  void *atfork, *threads, *environment;
} module;

#define raw_start module.raw_from
#define raw_stop module.raw_to
#define raw_used module.raw_ends
#define order_start module.order_from
#define order_stop module.order_to
#define order_used module.order_ends
#define __cairn_room module.room
#define __cairn_next (*module.next)
#define __cairn_order (*module.order)
#define __cairn_ring (*module.ring)
#define elf (*module.header)
#define __dso_handle (*(char *)module.handle)
#define dl_iterate_phdr module.iterate
#define __register_atfork ((int (*)(void (*)(void), void (*)(void), void (*)(void), void *))module.atfork)
#define __libc_single_threaded (*(char *)module.threads)
#define pthread_atfork ((int (*)(void (*)(void), void (*)(void), void (*)(void)))module.atfork)
#define pthread_create module.threads
#define environ (*(char ***)module.environment)

#endif
