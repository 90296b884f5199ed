/* The module's name and identity, for rt.c. */

#include "elf.h"

enum { NT_GNU_BUILD_ID = 3 };

/* find_note returns the description of a note of the module whose program
 * headers are given, or 0. name4 is the first four bytes of the note's name; its
 * type is 3 for both that are looked for.
 * The notes are found from the load address, or from the ELF header: they are
 * in the segment that starts with it. Each fills words of 4 bytes, also if the segment has
 * an alignment of 8: mold makes one of all notes, and those that are aligned so have a size
 * that is. */
static const u8 *find_note(const struct phdr *ph, u32 n, uword base, const struct ehdr *h, u32 name4, u32 *len) {
  for (; n--; ph++) {
    if (ph->type != PT_NOTE) continue;
    const u8 *p = h ? (const u8 *)h + ph->offset : (const u8 *)(base + ph->vaddr), *end = p + ph->memsz;
    while (end - p >= 16) {
      const struct note *note = (const struct note *)p;
      p += (12 + note->name_len + 3) & ~3u;
      *len = note->desc_len;
      if (note->type == NT_GNU_BUILD_ID && *(const u32 *)note->name == name4) return p;
      p += (note->desc_len + 3) & ~3u;
    }
  }
  *len = 0;
  return 0;
}

/* build_id finds the module's own id. */
static const u8 *build_id(u32 *len) {
  const struct ehdr *h = &elf;
  *len = 0;
  if (!h) return 0;
  const u8 *id = find_note((const struct phdr *)((const u8 *)h + h->phoff), h->phnum, 0, h,
                           0x554e47 /* GNU */, len);
  if (*len > CAIRN_MAX_BUILD_ID) *len = CAIRN_MAX_BUILD_ID;
  return id;
}

struct dl_info {
  uword addr;
  const char *name;
  const struct phdr *phdr;
  u16 phnum;
};

/* own_name keeps the name of the shared object that this code is in: the one
 * that was loaded at our ELF header. */
static int own_name(struct dl_info *i, uword size, void *arg) {
  (void)size;
  if (i->addr != (uword)&elf) return 0;
  *(const char **)arg = i->name;
  return 1;
}

/* put_module puts the base name of the module, the shared object or the executable. It sets *main
 * for the executable, which has no name in that list. */
static char *put_module(char *p, u8 *main) {
  static char exe[1024];
  const char *own = 0, *name;
  if (dl_iterate_phdr) dl_iterate_phdr(own_name, &own);
  if (!(name = own) || !*name) {
    long n = read_link("/proc/self/exe", exe, sizeof exe - 1);
    if (n > 0) exe[n] = 0;
    else thread_name(exe);
    name = exe;
    *main = 1;
  }
  const char *base = name;
  for (; *name; name++)
    if (*name == '/') base = name + 1;
  return put_some(p, base, MAX_MODULE);
}
