/* lbr EVERY OUT PROGRAM [ARGUMENT...]: runs a program until it stops itself by int3,
 * from there step by step, and writes branch samples as `perf script
 * --show-mmap-events -F ip,brstack` prints them: one after every EVERY instructions
 * in the program's own code, with the stack that frame pointers show and the last 32
 * taken branches. One thread, no children. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 32, STACK = 127, CACHE = 1 << 16 };

static struct { unsigned long from, to; } ring[DEPTH];
static unsigned long taken; /* branches so far */
static pid_t pid;

static void fail(const char *what) { perror(what); exit(1); }

static size_t peek(unsigned long at, void *to, size_t size) {
  struct iovec local = {to, size}, remote = {(void *)at, size};
  ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  return n < 0 ? 0 : (size_t)n;
}

/* what tells a branch and its length: 0 no branch, -1 always taken (but where
 * a repeated instruction stays), else the length of a conditional jump. */
static signed char classify(unsigned long rip) {
  unsigned char b[16] = {0};
  peek(rip, b, sizeof b);
  int i = 0;
  while (i < 10 && (strchr("\x66\x67\xf2\xf3\x2e\x3e\x26\x36\x64\x65", b[i]) != NULL && b[i] || (b[i] & 0xf0) == 0x40))
    i++;
  unsigned char op = b[i], next = b[i + 1];
  if (op == 0xe8 || op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xc2) return -1;
  if (op == 0xff && ((next >> 3 & 7) == 2 || (next >> 3 & 7) == 4)) return -1;
  if (op >= 0x70 && op <= 0x7f || op >= 0xe0 && op <= 0xe3) return (signed char)(i + 2);
  if (op == 0x0f && next >= 0x80 && next <= 0x8f) return (signed char)(i + 6);
  return 0;
}

static signed char branch(unsigned long rip) {
  static struct { unsigned long rip; signed char kind; } cache[CACHE];
  unsigned long i = rip % CACHE;
  if (cache[i].rip != rip) {
    cache[i].rip = rip;
    cache[i].kind = classify(rip);
  }
  return cache[i].kind;
}

/* maps prints the executable mappings of files and finds the program's own. */
static void maps(FILE *out, const char *program, unsigned long *lo, unsigned long *hi) {
  char path[64], line[PATH_MAX + 128], perms[8], file[PATH_MAX], real[PATH_MAX];
  if (realpath(program, real) == NULL) fail(program);
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE *f = fopen(path, "r");
  if (f == NULL) fail(path);
  while (fgets(line, sizeof line, f) != NULL) {
    unsigned long from, to, offset, inode;
    unsigned major, minor;
    if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %s", &from, &to, perms, &offset, &major, &minor, &inode, file) != 8) continue;
    if (perms[2] != 'x' || file[0] != '/') continue;
    fprintf(out, "PERF_RECORD_MMAP2 %d/%d: [0x%lx(0x%lx) @ %#lx %02x:%02x %lu 0]: %s %s\n", pid, pid, from, to - from, offset,
            major, minor, inode, perms, file);
    if (strcmp(file, real) == 0) *lo = from, *hi = to;
  }
  fclose(f);
}

static void sample(FILE *out, const struct user_regs_struct *r) {
  fprintf(out, "\t%16llx\n", r->rip);
  unsigned long fp = r->rbp, least = r->rsp, frame[2];
  for (int i = 0; i < STACK && fp >= least && peek(fp, frame, sizeof frame) == sizeof frame && frame[1] != 0; i++) {
    fprintf(out, "\t%16lx\n", frame[1]);
    least = fp + 1;
    fp = frame[0];
  }
  for (unsigned long i = 1; i <= DEPTH; i++) {
    unsigned long k = (taken - i) % DEPTH;
    fprintf(out, " 0x%lx/0x%lx/P/-/-/0 ", ring[k].from, ring[k].to);
  }
  fputs("\n\n", out);
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: lbr EVERY OUT PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  unsigned long every = strtoul(argv[1], NULL, 10), lo = 0, hi = 0, steps = 0;
  FILE *out = fopen(argv[2], "w");
  if (out == NULL) fail(argv[2]);
  pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execv(argv[3], argv + 3);
    fail(argv[3]);
  }
  struct user_regs_struct r;
  unsigned long last = 0;
  int began = 0; /* SIGTRAPs: the program was loaded, it stopped itself */
  for (int status;;) {
    if (waitpid(pid, &status, 0) < 0) fail("waitpid");
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (fclose(out) != 0) fail(argv[2]);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    int sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (began < 2 && (sig != 0 || ++began < 2)) {
      if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig) != 0) fail("PTRACE_CONT");
      continue;
    }
    if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0) fail("PTRACE_GETREGS");
    if (lo == 0) maps(out, argv[3], &lo, &hi);
    signed char kind = last != 0 ? branch(last) : 0;
    if (kind < 0 && r.rip != last || kind > 0 && r.rip != last + (unsigned long)kind) {
      ring[taken % DEPTH].from = last;
      ring[taken++ % DEPTH].to = r.rip;
    }
    if (r.rip >= lo && r.rip < hi && ++steps >= every && taken >= DEPTH) {
      sample(out, &r);
      steps = 0;
    }
    last = r.rip;
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)sig) != 0) fail("PTRACE_SINGLESTEP");
  }
}
