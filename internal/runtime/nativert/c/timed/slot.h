/* slot.h - Android: what a thread has, and how modules find what their process has. Its loader gives libraries that an app
 * loads neither thread-local variables at a fixed distance from the thread pointer, nor the symbols of each other.
 *
 * The C library leaves a word of each thread to apps, TLS_SLOT_APP, since Android 10. It is 0 in a new thread. Mode stacks has
 * its node there, mode trace its position; mode spike needs none.
 *
 * Each module has the whole runtime, and a note with the distance of the variable that leads to the state of the process. The
 * first that starts makes the state, and is never unloaded (-z nodelete). Initializers run one after the other. */
#ifndef CAIRN_SLOT_H
#define CAIRN_SLOT_H

#include "kernel.h"
#include "elf.h"

enum { SLOT = 16 }; /* distance of the word from the thread pointer */
#define SLOT_NOTE(variable, type)                                                                        \
  __asm__(".pushsection .note.cairn,\"a\",@note\n.balign 4\n.long 6, 8, " type "\n.asciz \"cairn\"\n.balign 4\n" \
          ".quad " variable " - .\n.popsection\n")
/* Types of notes: of the state of a process, of that of mode trace, and of whether this module has taken the word. */
enum { STATE_NOTE = 1, TRACER_NOTE = 2, SLOT_TAKEN_NOTE = 3 };
u32 __cairn_slot_taken HIDDEN;
SLOT_NOTE("__cairn_slot_taken", "3");

struct loaded { /* struct dl_phdr_info */
  u64 bias;
  const char *path;
  const struct phdr *ph;
  u16 count;
};
extern int dl_iterate_phdr(int (*)(struct loaded *, u64, void *), void *) WEAK;

struct sought {
  u32 type;
  int (*found)(void *variable, void *to);
  void *to;
};

static int noted(const struct sought *s, const u8 *at, u64 size) {
  while (size >= 28) {
    const struct note *n = (const struct note *)at;
    u64 whole = 12 + ((n->name_len + 3ul) & ~3ul) + ((n->desc_len + 3ul) & ~3ul);
    if (n->name_len == 6 && n->desc_len == 8 && n->type == s->type && *(const u32 *)n->name == 0x72696163 /* cair */) {
      i64 distance;
      copy(&distance, at + 20, 8);
      if (s->found((void *)(at + 20 + distance), s->to)) return 1;
    }
    if (whole > size) break;
    at += whole, size -= whole;
  }
  return 0;
}

static int in_module(struct loaded *l, u64 size, void *sought) {
  for (u32 i = 0; i < l->count; i++)
    if (l->ph[i].type == PT_NOTE && noted(sought, (const u8 *)(l->bias + l->ph[i].vaddr), l->ph[i].memsz)) return 1;
  return 0;
}

/* find_noted calls found with the variables of the notes of a type, until it returns that it is one, and returns whether it
 * did. */
static int find_noted(u32 type, int (*found)(void *, void *), void *to) {
  struct sought s = {type, found, to};
  return dl_iterate_phdr && dl_iterate_phdr(in_module, &s);
}

static int is_taken(void *variable, void *to) {
  (void)to;
  return load((u32 *)variable) != 0;
}

/* take_slot takes the word for the mode of this module, whose state it makes. It ends the process if libraries in the other mode
 * have taken it, or if other code uses it, as Go's runtime does: each would destroy what the other has there. Programs that begin
 * with such code have something in the word of their first thread. */
static void take_slot(void) {
  static const char message[] = "cairn: other code uses the thread-local slot that Android has for apps (TLS_SLOT_APP), such as Go's runtime or "
                                "libraries in another of the modes stacks and trace: build this program without cairn, or in another mode\n";
  if (__cairn_slot_taken) return; /* before: the state is made after this */
  if (!find_noted(SLOT_TAKEN_NOTE, is_taken, 0) && !*(u64 *)(thread_pointer() + SLOT)) {
    store(&__cairn_slot_taken, 1);
    return;
  }
  sys3(SYS_write, 2, message, sizeof message - 1);
  sys1(SYS_exit_group, 127);
}

#endif
