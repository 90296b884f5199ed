/* A plugin of QEMU that counts how often each instruction of the guest's program runs, on a machine whose instructions
   have four bytes. It writes lines with the address, relative to the program's code, and the number. The declarations
   are those of qemu-plugin.h, version 1, which Debian does not package. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int op, void *ptr, uint64_t imm);
uint64_t qemu_plugin_start_code(void), qemu_plugin_end_code(void);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);

int qemu_plugin_version = 1;
static uint64_t start, size, *times;
static FILE *out;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
  if (!times) { /* the program is not loaded when the plugin is installed */
    start = qemu_plugin_start_code(), size = qemu_plugin_end_code() - start;
    if (!(times = calloc(size / 4 + 1, sizeof *times))) abort();
  }
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
    uint64_t at = qemu_plugin_insn_vaddr(insn) - start;
    if (at < size) qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &times[at / 4], 1);
  }
}

static void ended(qemu_plugin_id_t id, void *data) {
  for (uint64_t at = 0; at < size; at += 4)
    if (times[at / 4]) fprintf(out, "%lu %lu\n", at, times[at / 4]);
  fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  if (argc != 1 || sscanf(argv[0], "out=%*s") != 0 || !(out = fopen(argv[0] + 4, "w"))) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
