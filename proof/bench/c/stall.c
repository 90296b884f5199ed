/* A library that plants one stall in a server (LD_PRELOAD): the next call of a function of the C
 * library waits, when the file STALL_FILE appears. It writes to that name with .done when the stall
 * began and ended, in nanoseconds of CLOCK_REALTIME. STALL says how:
 *
 *   send   sendmsg, send, write or writev of the answer sleeps, as if a buffer were full
 *   query  the same calls first ask a name server that does not answer
 *   fsync  fsync or fdatasync sleeps, as a disk does
 *   open   open or openat of a file sleeps, as a network file system does
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { STALL_MS = 400 };
static const char *file, *kind;
static __thread int inside;

__attribute__((constructor)) static void start(void) {
  const char *f = getenv("STALL_FILE"), *k = getenv("STALL");
  file = f ? strdup(f) : 0; /* servers write their titles over the environment */
  kind = k ? strdup(k) : 0;
}

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ask sends a question to an address at which nobody answers, and waits. */
static void ask(void) {
  struct sockaddr_in silent = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  socklen_t size = sizeof silent;
  int server = socket(AF_INET, SOCK_DGRAM, 0), fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(server, (void *)&silent, size) == 0 && getsockname(server, (void *)&silent, &size) == 0 && connect(fd, (void *)&silent, size) == 0) {
    struct pollfd p = {fd, POLLIN, 0};
    send(fd, "?", 1, 0);
    poll(&p, 1, STALL_MS);
  }
  close(fd);
  close(server);
}

static void stall(const char *here) {
  if (!file || !kind || strcmp(kind, here) || inside || access(file, F_OK) || unlink(file)) return;
  inside = 1;
  char done[4096];
  struct timespec t = {0, STALL_MS * 1000000L};
  long long from = now();
  if (!strcmp(here, "query")) ask();
  else nanosleep(&t, 0);
  snprintf(done, sizeof done, "%s.done.new", file);
  FILE *f = fopen(done, "w");
  if (f) {
    fprintf(f, "%lld %lld\n", from, now());
    fclose(f);
    char final[4096];
    snprintf(final, sizeof final, "%s.done", file);
    rename(done, final);
  }
  inside = 0;
}

#define NEXT(name) static __typeof__(name) *next; if (!next) next = dlsym(RTLD_NEXT, #name)
static void answer(void) {
  stall("send");
  stall("query");
}
ssize_t send(int fd, const void *b, size_t n, int flags) { NEXT(send); answer(); return next(fd, b, n, flags); }
ssize_t sendmsg(int fd, const struct msghdr *m, int flags) { NEXT(sendmsg); answer(); return next(fd, m, flags); }
ssize_t write(int fd, const void *b, size_t n) { NEXT(write); answer(); return next(fd, b, n); }
ssize_t writev(int fd, const struct iovec *v, int n) { NEXT(writev); answer(); return next(fd, v, n); }
int fsync(int fd) { NEXT(fsync); stall("fsync"); return next(fd); }
int fdatasync(int fd) { NEXT(fdatasync); stall("fsync"); return next(fd); }
int open64(const char *path, int flags, ...) {
  NEXT(open64);
  va_list a;
  va_start(a, flags);
  int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(a, int) : 0;
  va_end(a);
  stall("open");
  return next(path, flags, mode);
}
int open(const char *path, int flags, ...) {
  NEXT(open);
  va_list a;
  va_start(a, flags);
  int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(a, int) : 0;
  va_end(a);
  stall("open");
  return next(path, flags, mode);
}
