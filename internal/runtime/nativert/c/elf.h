/* elf.h - the parts of ELF that give a loaded module's address and build id. */

struct phdr {
#if __SIZEOF_POINTER__ == 8
  u32 type, flags;
  u64 offset, vaddr, paddr, filesz, memsz, align;
#else
  u32 type, offset, vaddr, paddr, filesz, memsz, flags, align;
#endif
};
struct ehdr {
  u8 ident[16];
  u16 type, machine;
  u32 version;
  uword entry, phoff, shoff;
  u32 flags;
  u16 ehsize, phentsize, phnum;
};
struct note {
  u32 name_len, desc_len, type;
  u8 name[4];
};
enum { PT_LOAD = 1, PT_NOTE = 4, PT_EH_FRAME = 0x6474e550 };
