/* steps EVERY MOST OUT TRUTH PROGRAM [ARGUMENT...]: runs a program until it stops itself by
 * int3, from there instruction by instruction, and writes what internal/lbr's recorder does,
 * with stacks as perf walks them: by frame pointers alone, from the very instruction. One
 * instruction in EVERY of the program's own code is sampled, MOST in all. TRUTH gets the
 * calls that are open, told apart by where their return addresses are. One thread, no
 * children. With STEPS_COPIES=FILE, FILE gets rip, rsp, rbp and the stack from rsp on, with its
 * size before it, as perf --call-graph dwarf copies them. */
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

enum { DEPTH = 32, STACK = 127, CACHE = 1 << 16, OPEN = 1 << 13, COPY = 1 << 15 };

static struct { unsigned long from, to; } ring[DEPTH];
static struct { unsigned long from, to, slot; } calls[OPEN];
static int open_calls;
static unsigned long taken, lo, hi;
static pid_t pid;

static void fail(const char *what) { perror(what); exit(1); }

static size_t peek(unsigned long at, void *to, size_t size) {
  struct iovec local = {to, size}, remote = {(void *)at, size};
  ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  return n < 0 ? 0 : (size_t)n;
}

struct kind { unsigned char branch, call, length; }; /* branch: 1 conditional, 2 always */

static struct kind classify(unsigned long rip) {
  unsigned char b[16] = {0};
  peek(rip, b, sizeof b);
  int i = 0;
  while (i < 10 && (b[i] && strchr("\x66\x67\xf2\xf3\x2e\x3e\x26\x36\x64\x65", b[i]) || (b[i] & 0xf0) == 0x40)) i++;
  unsigned char op = b[i], next = b[i + 1], reg = next >> 3 & 7;
  if (op == 0xe8 || op == 0xff && reg == 2) return (struct kind){2, 1, 0};
  if (op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xc2 || op == 0xff && reg == 4) return (struct kind){2, 0, 0};
  if (op >= 0x70 && op <= 0x7f || op >= 0xe0 && op <= 0xe3) return (struct kind){1, 0, (unsigned char)(i + 2)};
  if (op == 0x0f && next >= 0x80 && next <= 0x8f) return (struct kind){1, 0, (unsigned char)(i + 6)};
  return (struct kind){0, 0, 0};
}

static struct kind kind_of(unsigned long rip) {
  static struct { unsigned long rip; struct kind kind; } cache[CACHE];
  unsigned long i = rip % CACHE;
  if (cache[i].rip != rip) {
    cache[i].rip = rip;
    cache[i].kind = classify(rip);
  }
  return cache[i].kind;
}

/* maps prints the executable mappings of files and finds the program's own. */
static void maps(FILE *out, const char *program) {
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
    if (strcmp(file, real) == 0) lo = from, hi = to;
  }
  fclose(f);
}

static int own(unsigned long at) { return at >= lo && at < hi; }

/* copy writes the registers, and the stack up to its end. */
static void copy(FILE *to, const struct user_regs_struct *r) {
  static char bytes[COPY];
  unsigned long size = peek(r->rsp, bytes, sizeof bytes), head[] = {r->rip, r->rsp, r->rbp, size};
  fwrite(head, sizeof head, 1, to);
  fwrite(bytes, 1, size, to);
}

static void sample(FILE *out, FILE *truth, FILE *copies, const struct user_regs_struct *r) {
  if (copies != NULL) copy(copies, r);
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
  for (int i = 0; i < open_calls; i++) fprintf(truth, "%c%lx>%lx ", own(calls[i].from) ? 'C' : 'O', calls[i].from, calls[i].to);
  fprintf(truth, "L%llx\n", r->rip);
}

/* follow takes note of a branch and of what it does to the calls that are open. */
static void follow(unsigned long last, const struct user_regs_struct *r) {
  struct kind k = kind_of(last);
  while (open_calls && calls[open_calls - 1].slot < r->rsp) open_calls--;
  if (k.branch == 2 && r->rip != last || k.branch == 1 && r->rip != last + k.length) {
    ring[taken % DEPTH].from = last;
    ring[taken++ % DEPTH].to = r->rip;
  }
  if (!k.call || open_calls == OPEN) return;
  calls[open_calls].from = last;
  calls[open_calls].to = r->rip;
  calls[open_calls++].slot = r->rsp;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: steps EVERY MOST OUT TRUTH PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  unsigned long every = strtoul(argv[1], NULL, 10), most = strtoul(argv[2], NULL, 10), steps = 0, last = 0;
  FILE *out = fopen(argv[3], "w"), *truth = fopen(argv[4], "w");
  if (out == NULL || truth == NULL) fail(argv[3]);
  const char *path = getenv("STEPS_COPIES");
  FILE *copies = path == NULL ? NULL : fopen(path, "w");
  if (path != NULL && copies == NULL) fail(path);
  if ((pid = fork()) == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execv(argv[5], argv + 5);
    fail(argv[5]);
  }
  struct user_regs_struct r;
  int began = 0; /* SIGTRAPs: the program was loaded, it stopped itself */
  for (int status; most > 0;) {
    if (waitpid(pid, &status, 0) < 0) fail("waitpid");
    if (WIFEXITED(status) || WIFSIGNALED(status)) break;
    int sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (began < 2 && (sig != 0 || ++began < 2)) {
      if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig) != 0) fail("PTRACE_CONT");
      continue;
    }
    if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0) fail("PTRACE_GETREGS");
    if (lo == 0) maps(out, argv[5]);
    if (last != 0 && r.rip != last) follow(last, &r);
    if (own(r.rip) && ++steps >= every && taken >= DEPTH && open_calls) {
      sample(out, truth, copies, &r);
      steps = 0;
      most--;
    }
    last = r.rip;
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)sig) != 0) fail("PTRACE_SINGLESTEP");
  }
  kill(pid, SIGKILL);
  return fclose(out) != 0 || fclose(truth) != 0 || copies != NULL && fclose(copies) != 0;
}
