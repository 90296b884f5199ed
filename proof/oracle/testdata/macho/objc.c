// As much of a runtime of Objective-C as methods take that are in the classes of one program: messages
// look for the method by its name each time.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct method { const char *name, *types; void *code; };
struct relative { int32_t name, types, code; }; // each from its own place, the name to a pointer to it
struct methods { uint32_t size, count; struct method list[]; }; // or relative ones, by a bit of the size
struct constant { uint32_t flags, start, size, reserved; const void *layout; const char *name; const struct methods *methods; };
struct class { struct class *isa, *super; void *cache, *table; uintptr_t constant; };

struct { void *unused[2]; } _objc_empty_cache;
struct class OBJC_CLASS_$_NSObject, OBJC_METACLASS_$_NSObject;

static void *find_in(const struct methods *m, const char *name) {
  const struct relative *r = (void *)m->list;
  for (uint32_t i = 0; i < m->count; i++, r++) {
    if (!(m->size & 0x80000000)) {
      if (!strcmp(m->list[i].name, name)) return m->list[i].code;
    } else if (!strcmp(*(char **)((char *)&r->name + r->name), name)) {
      return (char *)&r->code + r->code;
    }
  }
  return 0;
}

void *find_method(struct class **object, const char *name) {
  for (struct class *c = *object; c; c = c->super) {
    const struct constant *k = (void *)(c->constant & ~(uintptr_t)7);
    void *code = k->methods ? find_in(k->methods, name) : 0;
    if (code) return code;
  }
  fprintf(stderr, "objc: no method %s\n", name);
  abort();
}

#ifdef __x86_64__
__asm__(".globl objc_msgSend\nobjc_msgSend:\n"
        "push %rbp\nmov %rsp, %rbp\npush %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\n"
        "call find_method\nmov %rax, %r11\n"
        "pop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\npop %rbp\njmp *%r11\n");
#else
__asm__(".globl objc_msgSend\nobjc_msgSend:\n"
        "stp x29, x30, [sp, #-80]!\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n"
        "bl find_method\nmov x16, x0\n"
        "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\nldp x29, x30, [sp], #80\nbr x16\n");
#endif
