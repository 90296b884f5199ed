/* What a thread waits for: which files, who is at the other end of a connection, and from where it
 * called. The report tells a server that waits for its clients from a request that waits for
 * another server by these.
 *
 * The clock's thread has an empty file table of its own. It gets copies of the program's files by
 * pidfd_getfd, which changes nothing in the program's table. A filter of system calls (seccomp) may
 * end a process that makes a call it does not expect, so nothing is asked if there is one. */

#include "task.h"
#include "timed.h"
#include "wait.h"

static i64 read_file(const char *path, char *b, u64 room) {
  i64 fd = open_file(path, O_RDONLY | O_CLOEXEC, 0), n;
  if (fd < 0) return fd;
  n = sys3(SYS_read, fd, b, room - 1);
  sys1(SYS_close, fd);
  b[n > 0 ? n : 0] = 0;
  return n;
}

/* after returns what follows a word in a text, or 0. */
static const char *after(const char *text, const char *word) {
  u64 n = length(word);
  for (; *text; text++) {
    u64 i = 0;
    while (i < n && text[i] == word[i]) i++;
    if (i == n) return text + n;
  }
  return 0;
}

static u64 number_of(const char *s) {
  u64 v = 0;
  while (*s == ' ' || *s == '\t') s++;
  for (; *s >= '0' && *s <= '9'; s++) v = v * 10 + (u64)(*s - '0');
  return v;
}

int __cairn_is_filtered(void) {
  char path[64], b[2048];
  put(put_task(path, (i32)sys0(SYS_gettid)), "/status");
  const char *mode = read_file(path, b, sizeof b) > 0 ? after(b, "\nSeccomp:") : 0;
  return !mode || number_of(mode);
}

#ifdef __arm__
#elif __aarch64__
enum { SYS_getsockname = 204, SYS_getpeername = 205 };
#else
enum { SYS_getsockname = 51, SYS_getpeername = 52 };
#endif
enum { ENOSYS = 38 };
enum { SOL_SOCKET = 1, SO_TYPE = 3, SO_ACCEPTCONN = 30, SOCK_STREAM = 1, UNIX = 1, INET = 2, INET6 = 10 };
enum { FILES = 16, ARGS = 9, STACK_POINTER = 7, PROGRAM_COUNTER = 8, DEPTH = 16384, PART = 2048 };
enum { FIRST_EPHEMERAL = 32768, LAST_EPHEMERAL = 60999 }; /* ports that Linux gives to those that connect */

/* ---- numbers of system calls ---- */

/* calls finds the table of the numbers that /proc shows: an emulator makes the calls of the machine that it
 * runs on. The file of a thread that reads its own has the number of that very call. */
u32 __cairn_calls(struct process *p) {
  enum { READ_X86_64 = 0, READ_ARM = 3, READ_GENERIC = 63 };
  u32 table = load(&p->calls);
  if (table) return table;
  char path[64], b[32];
  put(put_task(path, (i32)sys0(SYS_gettid)), "/syscall");
  int known = read_file(path, b, sizeof b) > 0 && *b >= '0' && *b <= '9';
  u64 n = number_of(b);
  table = !known ? LOG_CALLS_UNKNOWN : n == READ_X86_64 ? LOG_CALLS_X86_64 : n == READ_GENERIC ? LOG_CALLS_GENERIC : n == READ_ARM ? LOG_CALLS_ARM : LOG_CALLS_UNKNOWN;
  store(&p->calls, table);
  return table;
}

/* What a system call is for, by its number: poll, select, epoll_wait, a file, futex. */
enum { ANOTHER, POLL, SELECT, EPOLL, ONE_FILE, FUTEX };

static u32 kind_of_x86_64(i64 call) {
  switch (call) {
  case 7: case 271: return POLL;
  case 23: case 270: return SELECT;
  case 232: case 281: case 441: return EPOLL;
  case 202: return FUTEX;
  case 0: case 19: case 1: case 20: return ONE_FILE; /* read, readv, write, writev */
  case 43: case 288: case 42: case 45: case 47: case 44: case 46: return ONE_FILE; /* accept, accept4, connect, recvfrom, recvmsg, sendto, sendmsg */
  }
  return ANOTHER;
}

static u32 kind_of_generic(i64 call) {
  switch (call) {
  case 73: return POLL;
  case 72: return SELECT;
  case 22: case 441: return EPOLL;
  case 98: return FUTEX;
  case 63: case 65: case 64: case 66: return ONE_FILE;
  case 202: case 242: case 203: case 207: case 212: case 206: case 211: return ONE_FILE;
  }
  return ANOTHER;
}

static u32 kind_of_arm(i64 call) {
  switch (call) {
  case 168: case 336: case 414: return POLL;
  case 142: case 335: case 413: return SELECT;
  case 252: case 346: case 441: return EPOLL;
  case 240: case 422: return FUTEX;
  case 3: case 145: case 4: case 146: return ONE_FILE;
  case 285: case 366: case 283: case 292: case 297: case 290: case 296: return ONE_FILE;
  }
  return ANOTHER;
}

static u32 kind_of_call(struct process *p, i64 call) {
  switch (__cairn_calls(p)) {
  case LOG_CALLS_X86_64: return kind_of_x86_64(call);
  case LOG_CALLS_GENERIC: return kind_of_generic(call);
  case LOG_CALLS_ARM: return kind_of_arm(call);
  }
  return ANOTHER;
}

/* arguments reads the system call that a thread is in: its arguments, its stack pointer and where
 * it is. It returns the call's number, or -1 if there is none. */
static i64 arguments(i32 tid, u64 *arg) {
  char path[64], b[256], *s = b;
  put(put_task(path, tid), "/syscall");
  i64 n = read_file(path, b, sizeof b);
  if (n <= 0 || *s < '0' || *s > '9') return -1;
  i64 call = (i64)number_of(s);
  for (u32 i = 1; i < ARGS; i++) {
    u64 v = 0;
    while (*s && *s != ' ') s++;
    if (s[0] != ' ' || s[1] != '0' || s[2] != 'x') return -1;
    for (s += 3; (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'f'); s++) v = v << 4 | (u64)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
    arg[i - 1] = v;
  }
  return call;
}

/* peek copies memory, and returns how much of it there was. Emulators lack the system call for that. */
static u64 peek(struct process *p, u64 at, void *to, u64 n) {
  uword local[2] = {(uword)to, n}, remote[2] = {at, n};
  i64 got = sys6(SYS_process_vm_readv, p->pid, (sword)local, 1, (sword)remote, 1, 0);
  if (got == -ENOSYS) return __cairn_peek(p, at, to, n) ? n : 0;
  return got > 0 ? (u64)got : 0;
}

/* ---- files ---- */

/* in_epoll lists the files of an epoll instance. */
static u32 in_epoll(struct process *p, u64 fd, i32 *files) {
  char path[64], b[4096];
  const char *s = b;
  u32 n = 0;
  put_number(put(put_number(put(path, "/proc/"), (u64)(u32)p->pid), "/fdinfo/"), fd);
  if (read_file(path, b, sizeof b) <= 0) return 0;
  while (n < FILES && (s = after(s, "tfd:"))) files[n++] = (i32)number_of(s);
  return n;
}

/* in_sets lists the files in the sets of select. */
static u32 in_sets(struct process *p, const u64 *arg, i32 *files) {
  u32 n = 0;
  for (u32 k = 1; k <= 2; k++) {
    u64 set[16], bits = least(arg[0], 8 * sizeof set), got = arg[k] ? peek(p, arg[k], set, (bits + 63) / 64 * 8) : 0;
    for (u64 i = 0; i < least(bits, 8 * got) && n < FILES; i++)
      if (set[i / 64] >> i % 64 & 1) files[n++] = (i32)i;
  }
  return n;
}

/* in_poll lists the files of an array for poll. */
static u32 in_poll(struct process *p, const u64 *arg, i32 *files) {
  u64 list[FILES], count = peek(p, arg[0], list, least(arg[1], FILES) * 8) / 8;
  u32 n = 0;
  for (u64 i = 0; i < count; i++)
    if ((i32)list[i] >= 0) files[n++] = (i32)list[i];
  return n;
}

/* waits_for lists the files that a system call waits for. -1: it waits for none. */
static i32 waits_for(struct process *p, i64 call, const u64 *arg, i32 *files) {
  switch (kind_of_call(p, call)) {
  case POLL: return (i32)in_poll(p, arg, files);
  case SELECT: return (i32)in_sets(p, arg, files);
  case EPOLL: return (i32)in_epoll(p, arg[0], files);
  case ONE_FILE: files[0] = (i32)arg[0]; return 1;
  }
  return -1;
}

/* ---- sockets ---- */

struct address {
  u16 family;
  u8 rest[126];
};

static u32 port_of(const struct address *a) { return (u32)a->rest[0] << 8 | a->rest[1]; }
static int is_ephemeral(u32 port) { return port >= FIRST_EPHEMERAL && port <= LAST_EPHEMERAL; }

static char *put_port(char *to, const struct address *a) { return put_number(put(to, ":"), port_of(a)); }

/* put_address writes an address as people write it. */
static void put_address(char *to, const struct address *a, u32 size) {
  char b[64], *q = b;
  if (a->family == UNIX) {
    u32 n = size > 2 ? (u32)least(size - 2, LOG_MAX_PEER) : 0, i = 0;
    for (; i < n && (a->rest[i] || !i); i++) to[i] = (char)(a->rest[i] ? a->rest[i] : '@'); /* abstract names begin with 0 */
    to[i] = 0;
    return;
  }
  int mapped = a->family == INET6; /* ::ffff:1.2.3.4 */
  for (u32 i = 0; i < 12 && mapped; i++) mapped = a->rest[6 + i] == (i < 10 ? 0 : 0xff);
  if (a->family == INET || mapped) {
    const u8 *ip = a->rest + (mapped ? 18 : 2);
    for (u32 i = 0; i < 4; i++) q = put_number(i ? put(q, ".") : q, ip[i]);
  } else {
    q = put(q, "[");
    for (u32 i = 0; i < 8; i++) q = put_hex(i ? put(q, ":") : q, (u64)a->rest[6 + 2 * i] << 8 | a->rest[7 + 2 * i], 4);
    q = put(q, "]");
  }
  put_port(q, a);
  put(to, b);
}

/* kind_of_socket finds who made a connection. The kernel does not say that of sockets of the
 * internet, but a port below or above those that it gives to who connects tells. */
static u32 kind_of_socket(i64 fd, u32 type, char *peer) {
  struct address here, there;
  u32 size = sizeof here, far = sizeof there;
  if (sys3(SYS_getsockname, fd, &here, &size) < 0) return LOG_WAIT_UNKNOWN;
  int connected = sys3(SYS_getpeername, fd, &there, &far) >= 0;
  if (connected) put_address(peer, &there, far);
  switch (here.family) {
  case UNIX:
    if (size > 2) return LOG_WAIT_INCOMING; /* it has the name of what it was accepted from */
    return connected && far > 2 ? LOG_WAIT_OUTGOING : LOG_WAIT_INTERNAL;
  case INET:
  case INET6:
    if (!connected) return type == SOCK_STREAM || is_ephemeral(port_of(&here)) ? LOG_WAIT_OUTGOING : LOG_WAIT_INCOMING;
    if (type != SOCK_STREAM) return LOG_WAIT_OUTGOING; /* servers do not connect sockets for datagrams */
    if (is_ephemeral(port_of(&here)) == is_ephemeral(port_of(&there))) return LOG_WAIT_UNKNOWN;
    return is_ephemeral(port_of(&here)) ? LOG_WAIT_OUTGOING : LOG_WAIT_INCOMING;
  }
  return LOG_WAIT_INTERNAL; /* of the kernel */
}

static u32 kind_of(struct process *p, i64 of, i32 file, char *peer) {
  char path[64], b[64];
  put_number(put(put_number(put(path, "/proc/"), (u64)(u32)p->pid), "/fd/"), (u64)(u32)file);
  i64 n = read_link(path, b, sizeof b - 1);
  if (n <= 0) return LOG_WAIT_UNKNOWN;
  b[n] = 0;
  if (b[0] == '/') return LOG_WAIT_FILE;
  if (after(b, "socket:") != b + 7) return LOG_WAIT_INTERNAL;
  i64 fd = of < 0 ? of : sys3(SYS_pidfd_getfd, of, file, 0);
  if (fd < 0) return LOG_WAIT_UNKNOWN;
  u32 listens = 0, type = 0, size = 4, kind;
  if (sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0) kind = LOG_WAIT_UNKNOWN;
  else if (listens) kind = LOG_WAIT_LISTENER;
  else {
    size = 4;
    sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size);
    kind = kind_of_socket(fd, type, peer);
  }
  sys1(SYS_close, fd);
  return kind;
}

/* files_of sets the kinds of files that a wait is for. */
static void files_of(struct process *p, struct wait *w, const u64 *arg) {
  i32 files[FILES], n = waits_for(p, w->call, arg, files);
  if (n < 0) return;
  w->on = n ? 0 : LOG_WAIT_UNKNOWN;
  int filtered = __cairn_is_filtered();
  i64 of = filtered ? -1 : sys2(SYS_pidfd_open, p->pid, 0);
  for (i32 i = 0; i < n; i++) {
    char peer[LOG_MAX_PEER + 1];
    peer[0] = 0;
    u32 kind = kind_of(p, of, files[i], peer);
    if (!w->peer[0] && (kind == LOG_WAIT_OUTGOING || n == 1)) put(w->peer, peer);
    w->on |= kind;
  }
  if (n == FILES) w->on |= LOG_WAIT_UNKNOWN; /* there may be more */
  if (of >= 0) sys1(SYS_close, of);
}

/* ---- the stack ---- */

/* follows_call reports whether the instruction before an address may be a call. */
#ifdef __aarch64__
static int follows_call(struct process *p, u64 pc) {
  u32 code;
  if (pc & 3 || peek(p, pc - sizeof code, &code, sizeof code) != sizeof code) return 0;
  return code >> 26 == 0x25 || (code & 0xfefff000u) == 0xd63f0000u; /* bl; blr, blraa, blrab */
}
#else
static int follows_call(struct process *p, u64 pc) {
  u8 b[7];
  if (pc < sizeof b || peek(p, pc - sizeof b, b, sizeof b) != sizeof b) return 0;
  if (b[2] == 0xe8) return 1;
  for (u32 i = 0; i < 6; i++) {
    u32 mod = b[i + 1] >> 6, sib = (b[i + 1] & 7) == 4 && mod != 3;
    u32 size = 2 + sib + (mod == 1 ? 1 : mod == 2 || (mod == 0 && (b[i + 1] & 7) == 5) ? 4 : 0);
    if (b[i] == 0xff && (b[i + 1] >> 3 & 7) == 2 && i + size == 7) return 1;
  }
  return 0;
}
#endif

/* stack_of looks for return addresses on the stack, except for those in the module that made the
 * system call: that is the C library. */
static void stack_of(struct process *p, struct wait *w, const u64 *arg) {
  if (sizeof(uword) < 8 || __cairn_calls(p) != OWN_CALLS) return; /* words of Armv7 are not told apart; the stack is that of an emulator */
  u64 words[PART / 8], sp = arg[STACK_POINTER - 1] & ~7ul;
  const struct module *own = __cairn_module_of(p, arg[PROGRAM_COUNTER - 1]);
  for (u64 at = 0; at < DEPTH; at += PART) {
    u64 n = peek(p, sp + at, words, PART) / 8;
    for (u64 i = 0; i < n && w->slots < LOG_MAX_WAIT_STACK; i++) {
      u64 pc = plain_address(words[i]);
      const struct module *m = pc >> 12 ? __cairn_module_of(p, pc) : 0;
      if (!m || m == own || !follows_call(p, pc)) continue;
      w->slot[w->slots][0] = sp + at + 8 * i;
      w->slot[w->slots++][1] = pc;
    }
    if (n < PART / 8) return;
  }
}

/* ---- mutexes ---- */

enum { LOCK_PI = 6, WAIT_BITSET = 9, LOCK_PI2 = 13, COMMAND = 127, TID_BITS = 0x3fffffff, CONTENDED = 2 };

/* rwlock_at finds who has the read-write lock of glibc at an address: the writer, or a number of
 * readers, whose ids it does not have. The lock consists of the number of readers above flags, the
 * number of writers, two futexes, two zeros, the id of the writer and whether processes share it. A
 * thread waits for one of the futexes. */
static int rwlock_at(struct process *p, u64 at, struct wait *w) {
  enum { WRITES = 1, LOCKED = 2, COUNT = 3, MOST = 1 << 16, FUTEXES = 4 };
  u32 l[8];
  if (peek(p, at, l, sizeof l) != sizeof l || l[4] || l[5] || l[7] > 1 || l[2] >= FUTEXES || l[3] >= FUTEXES || l[1] >= MOST) return 0;
  if (l[6] && l[6] <= TID_BITS && l[0] & LOCKED) w->holder = (i32)l[6];
  else if (!l[6] && (l[0] & (WRITES | LOCKED)) == LOCKED && l[0] >> COUNT && l[0] >> COUNT < MOST) w->readers = l[0] >> COUNT;
  else return 0;
  w->shared = 1;
  return 1;
}

/* ends reports whether a futex is the word of a thread of glibc that holds its number until it ends, for
 * pthread_join. The kernel clears it, and wakes who waits, across processes too. */
static int ends(const u64 *arg, u32 word) {
  enum { PRIVATE = 128 };
  return !(arg[1] & PRIVATE) && word && word <= TID_BITS && word == (u32)arg[2];
}

/* find_owner finds the thread that has what another one waits for with a futex, or whose end it waits for. A
 * mutex of glibc begins with the futex, a count, the owner, the number of users and the kind: other words that look the same do
 * not have a thread there. The word of mutexes with priority inheritance and of robust ones, and of all
 * of musl, has the owner. */
static void find_owner(struct process *p, const u64 *arg, struct wait *w) {
  enum { WAITERS = 31, WRITE_PHASE = 8, WRITERS = 12 }; /* the two futexes of a read-write lock */
  u32 m[5];
  u64 command = arg[1] & COMMAND;
  w->lock = arg[0];
  if (peek(p, arg[0], m, sizeof m) != sizeof m) return;
  if (command == LOCK_PI || command == LOCK_PI2) w->holder = (i32)(m[0] & TID_BITS);
  else if (command != FUTEX_SHARED_WAIT && command != WAIT_BITSET) return;
  else if (m[0] >> WAITERS) w->holder = (i32)(m[0] & TID_BITS);
  else if (m[0] == CONTENDED && m[2] && m[3] && m[3] < 1u << 16 && m[4] < 1u << 9 && m[2] <= TID_BITS) w->holder = (i32)m[2];
  else if (ends(arg, m[0])) w->holder = (i32)m[0], w->on = LOG_WAIT_THREAD;
  else if (!rwlock_at(p, arg[0] - WRITE_PHASE, w)) rwlock_at(p, arg[0] - WRITERS, w);
}

void __cairn_wait_look(struct process *p, i32 tid, struct wait *w) {
  u64 arg[ARGS];
  w->on = LOG_WAIT_UNKNOWN;
  w->slots = 0;
  w->holder = 0;
  w->readers = w->shared = 0;
  w->peer[0] = 0;
  if (sizeof(uword) < 8 && __cairn_calls(p) != OWN_CALLS) return; /* the addresses are those of an emulator, too */
  if (arguments(tid, arg) != w->call) return;
  files_of(p, w, arg);
  stack_of(p, w, arg);
  if (kind_of_call(p, w->call) == FUTEX) find_owner(p, arg, w);
}
