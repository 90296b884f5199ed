/* Detects loaded libraries. Before and after the loader changes its list, it calls an empty
 * function, for debuggers. The runtime replaces the function's first byte by hlt, which is
 * privileged: so each change raises a fault. A plug-in that is being loaded has not run any code by
 * then. Replacing dlopen would not work: the loader examines its caller. */

#include "lbr.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

u64 lbr_loader_tells;
static const struct r_debug *loader;

/* find_loader reads the loader's data for debuggers in the program. */
static int find_loader(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; d++)
      if (d->d_tag == DT_DEBUG) loader = (const struct r_debug *)d->d_un.d_ptr;
  }
  return 1; /* the program is the first */
}

/* next is the list of another namespace: see struct r_debug_extended in <link.h>. */
static const struct r_debug *next(const struct r_debug *d) {
  return d->r_version >= 2 ? *(const struct r_debug *const *)(d + 1) : 0;
}

static struct module *known(const struct link_map *l) {
  for (struct module *m = lbr_modules + 1; m < lbr_modules + lbr_module_count; m++)
    if (m->link == l && m->bias == l->l_addr) return m;
  return 0;
}

/* planned returns the module of a file, if it is not loaded already. */
static struct module *planned(const char *file) {
  struct stat st;
  if (!*file || stat(file, &st) < 0) return 0;
  for (struct module *m = lbr_modules + 1; m < lbr_modules + lbr_module_count; m++)
    if (!m->link && !m->failed && m->device == st.st_dev && m->inode == st.st_ino) return m;
  return 0;
}

/* forget unloads modules that are no longer loaded. */
static void forget(void) {
  struct module *m;
  for (m = lbr_modules + 1; m < lbr_modules + lbr_module_count; m++) m->seen = 0;
  for (const struct r_debug *d = loader; d; d = next(d))
    for (const struct link_map *l = d->r_map; l; l = l->l_next)
      if ((m = known(l))) m->seen = 1;
  for (m = lbr_modules + 1; m < lbr_modules + lbr_module_count; m++) {
    if (!m->link || m->seen) continue;
    lbr_unload(m);
    m->link = 0;
  }
}

/* settle evaluates what this thread has stored before files are unmapped: its stacks may have
 * addresses in them, which another file may take. */
static void settle(void) {
  struct state *s = lbr_mine();
  if (s && s->moved == lbr_moved) lbr_rest(s, 0);
}

void lbr_loader_changed(void) {
  for (const struct r_debug *d = loader; d; d = next(d)) {
    if (d->r_state == RT_DELETE) settle();
    if (d->r_state != RT_CONSISTENT) return; /* it calls again */
  }
  forget();
  __atomic_add_fetch(&lbr_loads, 1, __ATOMIC_RELEASE);
  int told = 0;
  for (const struct r_debug *d = loader; d; d = next(d)) {
    for (const struct link_map *l = d->r_map; l; l = l->l_next) {
      struct module *m;
      if (known(l) || !(m = planned(l->l_name))) continue;
      if (!told++) lbr_emit_maps(); /* while its code can still run */
      const char *why = lbr_load(m, l->l_addr);
      m->failed = why != 0;
      if (why) lbr_fail(why, l->l_name);
      else m->link = l;
    }
  }
}

static u8 told_at; /* original first byte of the loader's function */

void lbr_unwatch_loader(void) {
  u8 *f = (u8 *)lbr_loader_tells, *page = (u8 *)((u64)f & ~(PAGE - 1ul));
  if (!f || lbr_mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) return;
  *f = told_at;
  lbr_mprotect(page, PAGE, PROT_READ | PROT_EXEC);
}

void lbr_watch_loader(void) {
  static const u8 ret[] = {0xc3}, endbr_ret[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};
  dl_iterate_phdr(find_loader, 0);
  if (!loader) {
    lbr_fail("the loader does not report what it loads", "");
    return;
  }
  lbr_loader_changed();
  lbr_loads_told = lbr_loads; /* the mappings were written before */
  u8 *f = (u8 *)loader->r_brk, *page = (u8 *)((u64)f & ~(PAGE - 1ul));
  if ((memcmp(f, ret, sizeof ret) && memcmp(f, endbr_ret, sizeof endbr_ret)) || lbr_mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
    lbr_fail("libraries that are loaded later are not seen", "");
    return;
  }
  told_at = *f;
  *f = 0xf4;
  lbr_mprotect(page, PAGE, PROT_READ | PROT_EXEC);
  lbr_loader_tells = (u64)f;
}
