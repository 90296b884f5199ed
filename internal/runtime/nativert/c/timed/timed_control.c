/* Changes of settings while the program runs: by a socket with its own thread, or a file that is
 * read again on a signal. A request is a line: "show", "look", which brings the calls in the log that
 * have not ended up to date, or "set" and words of CAIRN_SPIKE. The
 * answer is lines of a name and a value, and a last line "end"; then the connection is closed.
 * internal/spikes/spikecontrol is the client.
 *
 * Clients are not trusted: lengths and times are bounded, no call waits for a client, and only the
 * user of the process gets an answer. The thread has its own table of open files, so that it does
 * not keep files open that the program closes, and does not accept connections from a file that the
 * program opened under the number of the socket. */

#include "task.h"
#include "timed.h"

enum { AF_UNIX = 1, SOCK_STREAM = 1, SOCK_NONBLOCK = 04000, SOCK_CLOEXEC = 02000000, SOL_SOCKET = 1, SO_PEERCRED = 17 };
enum { POLLIN = 1, MSG_DONTWAIT = 0x40, MSG_NOSIGNAL = 0x4000, O_PATH = 010000000 };
enum { EAGAIN = 11, ECONNREFUSED = 111 };
enum { LOOK = 500 /* ms that one may take */ };
enum { LINE = CONTROL_LINE, REPLY = 8192, PATIENCE = SECOND };

struct address {
  u16 family;
  char path[108];
};

/* ---- the socket ---- */

/* own_files gives the thread an empty table of open files. */
static int own_files(void) {
  if (leave_files()) return 1;
  uword limit[2] = {0, 0};
  if (sys1(SYS_unshare, 0x400 /* CLONE_FILES */) < 0) return 0;
  sys2(SYS_getrlimit, 7 /* RLIMIT_NOFILE */, limit);
  for (u64 fd = 0; fd < least(limit[0], 1 << 16); fd++) sys1(SYS_close, fd);
  return 1;
}

/* is_stale reports whether there is a socket at an address on which no process listens. */
static int is_stale(const struct address *a) {
  u32 info[2 * STAT_WORDS];
  if (stat_link(a->path, info) < 0 || (info[STAT_MODE_4] & 0170000) != 0140000 /* S_IFSOCK */) return 0;
  i64 fd = sys3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  i64 r = fd < 0 ? fd : sys3(SYS_connect, fd, a, sizeof *a);
  if (fd >= 0) sys1(SYS_close, fd);
  return r == -ECONNREFUSED;
}

/* set_address sets the address of a name in an open directory, whose path may be longer than an
 * address. */
static i64 set_address(struct address *a, i64 dir, const char *name) {
  *a = (struct address){AF_UNIX, {0}};
  char *q = put(put_file(a->path, dir), "/");
  if (length(name) >= sizeof a->path - (u64)(q - a->path)) return -ENAMETOOLONG;
  put(q, name);
  return 0;
}

/* take_name moves the socket at an address to a name in the directory, where it replaces a socket
 * that a dead process left. */
static i64 take_name(const struct address *from, i64 dir, const char *name) {
  struct address a;
  i64 r = set_address(&a, dir, name);
  if (r >= 0) r = move_new(from->path, a.path);
  if (r == -EEXIST && is_stale(&a)) {
    remove_file(a.path);
    r = move_new(from->path, a.path);
  }
  return r;
}

/* listen_at makes the socket name in an open directory. If another process uses the name, the PID
 * of this one is added to it. The socket gets a temporary name first, since one on which nobody
 * listens yet looks like that of a dead process. */
static i64 listen_at(i64 dir, char *name, u64 pid) {
  struct address a;
  char temporary[32];
  put_number(put(temporary, ".cairn-"), pid);
  i64 r = set_address(&a, dir, temporary), fd;
  if (r < 0) return r;
  fd = sys3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  sys2(SYS_fchmod, fd, 0600); /* bind creates the socket with these permissions */
  if (is_stale(&a)) remove_file(a.path);
  r = sys3(SYS_bind, fd, &a, sizeof a);
  if (r >= 0) {
    r = sys2(SYS_listen, fd, 128);
    if (r >= 0) r = take_name(&a, dir, name);
    if (r == -EEXIST) {
      put_number(put(name + length(name), "."), pid);
      r = take_name(&a, dir, name);
    }
    if (r < 0) remove_file(a.path);
  }
  if (r >= 0) return fd;
  sys1(SYS_close, fd);
  return r;
}

/* whole sets the full path of a name in the directory that is open as fd. */
static int whole(char *to, u64 room, i64 fd, const char *name) {
  char link[64];
  put_file(link, fd);
  i64 n = read_link(link, to, room);
  if (n <= 0 || (u64)n + length(name) + 2 > room) return 0;
  to[n] = '/';
  put(to + n + 1, name);
  return 1;
}

/* open_socket makes the socket at the given path, or beside the log. If another process uses
 * that path, the PID of this one is added to the name. */
static i64 open_socket(struct process *p) {
  char path[CONTROL_PATH + 32], *slash = 0;
  if (p->control.at[0]) {
    put(path, p->control.at);
  } else {
    u64 n = less(length(p->log.path), length(LOG_SUFFIX));
    copy(path, p->log.path, n);
    put(path + n, ".sock");
  }
  for (char *s = path; *s; s++)
    if (*s == '/') slash = s;
  char *name = slash ? slash + 1 : path;
  const char *dir = slash == path ? "/" : slash ? path : ".";
  if (slash) *slash = 0;
  i64 d = open_file(dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (d < 0) return d;
  i64 fd = listen_at(d, name, (u64)p->pid);
  if (fd >= 0 && !whole(p->control.path, sizeof p->control.path, d, name)) p->control.path[0] = 0;
  sys1(SYS_close, d);
  return fd;
}

/* ---- clients ---- */

/* answer sends the part that fits into the socket's buffer, which has room for a whole answer. It
 * does not wait for a client that does not read. */
static void answer(i64 fd, const char *text, u64 n) {
  while (n) {
    i64 r = sys6(SYS_sendto, fd, (sword)text, (sword)n, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    if (r == -EINTR) continue;
    if (r <= 0) return;
    text += r, n -= (u64)r;
  }
}

/* put_text puts a name, and a value without control characters. */
static char *put_text(char *q, const char *name, const char *value) {
  q = put(put(q, name), " ");
  for (; *value; value++) *q++ = (u8)*value < ' ' ? '?' : *value;
  return put(q, "\n");
}
static char *put_value(char *q, const char *name, u64 v) { return put(put_number(put(put(q, name), " "), v), "\n"); }

/* describe writes the current settings and counts. */
static char *describe(struct process *p, char *q, const char *end) {
  q = put_value(put(q, "cairn 1\n"), "pid", (u64)p->pid);
  q = put_text(q, "program", p->exe.path);
  q = put_text(q, "log", p->log.file.fd >= 0 ? p->log.path : "");
  q = put_text(q, "state", p->set.quiet ? "off" : "on");
  q = put_value(q, "threshold", load(&p->set.threshold));
  q = put_value(q, "period", load(&p->set.period));
  q = put_value(q, "rate", load(&p->set.rate));
  q = put_value(q, "episodes", load(&p->count.episodes) - load(&p->count.snapshots));
  q = put_value(q, "frame", load(&p->frames.current));
  q = __cairn_put_channels(p, q, end - 8);
  return put(q, "end\n");
}

/* commas replaces blanks by commas, and ends the text at a comment (#). */
static void commas(char *s) {
  for (int comment = 0; *s; s++) {
    comment = *s == '#' || (comment && *s != '\n');
    if (comment || *s == ' ' || *s == '\t' || *s == '\n' || *s == '\r') *s = ',';
  }
}

/* serve answers a request of n bytes; n is NONE if it did not arrive. */
static void serve(struct process *p, i64 fd, char *line, u64 n) {
  static const char set[] = "set ";
  char *reply = p->control.reply, *q;
  const char *wrong = 0;
  int sets = n != NONE;
  for (u64 i = 0; sets && set[i]; i++) sets = line[i] == set[i];
  int looks = n != NONE && __cairn_word_is(line, "look");
  if (n == NONE || (!sets && !looks && !__cairn_word_is(line, "show"))) {
    wrong = "a request is a line, show, look or set with words";
  } else if (sets) {
    commas(line + sizeof set - 1);
    if (!(wrong = __cairn_set(p, line + sizeof set - 1))) __cairn_wake(p);
  }
  if (looks) __cairn_open_ask(p, LOOK);
  if (wrong && sets) {
    q = put(reply, "error ");
    for (u32 i = 0; *wrong && *wrong != ',' && i < 100; i++, wrong++) *q++ = (u8)*wrong < ' ' ? '?' : *wrong;
    q = put(q, " is invalid, or names no channel here; nothing is changed\n");
  } else if (wrong) {
    q = put_text(reply, "error", wrong);
  } else {
    q = describe(p, reply, reply + REPLY);
  }
  answer(fd, reply, (u64)(q - reply));
}

/* is_ours reports whether a client is the user that the process runs as. */
static int is_ours(i64 fd) {
  u32 cred[3] = {0, ~0u, 0}, size = sizeof cred;
  i64 r = sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (sword)cred, (sword)&size, 0);
  return r >= 0 && cred[1] == (u32)sys0(SYS_geteuid);
}

/* part closes a connection. */
static void part(struct client *c) {
  sys1(SYS_close, c->fd);
  c->fd = -1;
}

/* read_client reads from a client, and answers after a line. */
static void read_client(struct process *p, struct client *c) {
  i64 r = sys3(SYS_read, c->fd, c->line + c->n, CONTROL_LINE - c->n);
  if (r == -EAGAIN || r == -EINTR) return;
  for (u64 to = c->n + (u64)(r > 0 ? r : 0); c->n < to; c->n++)
    if (c->line[c->n] == '\n') {
      c->line[c->n] = 0;
      serve(p, c->fd, c->line, c->n);
      part(c);
      return;
    }
  if (r > 0 && c->n < CONTROL_LINE) return;
  serve(p, c->fd, 0, NONE);
  part(c);
}

/* accept_client accepts a client, in place of the oldest one if there are many: silent clients do
 * not block others. */
static void accept_client(struct process *p, i64 fd) {
  struct client *place = p->control.client;
  if (!is_ours(fd)) {
    sys1(SYS_close, fd);
    return;
  }
  for (struct client *c = p->control.client; c < p->control.client + CONTROL_CLIENTS; c++)
    if (place->fd >= 0 && (c->fd < 0 || c->since < place->since)) place = c;
  if (place->fd >= 0) part(place);
  place->fd = (i32)fd, place->n = 0, place->since = __cairn_now(p);
}

/* wait_for_input waits for input of a client, for a new one, or for a second. */
static void wait_for_input(struct process *p, i64 fd) {
  struct {
    i32 fd;
    u16 events, got;
  } f[CONTROL_CLIENTS + 1];
  for (u32 i = 0; i < CONTROL_CLIENTS; i++) f[i].fd = p->control.client[i].fd, f[i].events = POLLIN, f[i].got = 0;
  f[CONTROL_CLIENTS].fd = (i32)fd, f[CONTROL_CLIENTS].events = POLLIN, f[CONTROL_CLIENTS].got = 0;
  i64 ready = wait_for(f, CONTROL_CLIENTS + 1, SECOND / MS);
  __cairn_rest(p, ready, SECOND / 10); /* fewer descriptors may be permitted: poll then fails */
  if (ready < 0) return;
  u64 now = __cairn_now(p);
  for (struct client *c = p->control.client; c < p->control.client + CONTROL_CLIENTS; c++) {
    if (c->fd < 0) continue;
    if (f[c - p->control.client].got) read_client(p, c);
    else if (now - c->since > PATIENCE) part(c);
  }
  if (!f[CONTROL_CLIENTS].got) return;
  i64 client = sys4(SYS_accept4, fd, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client >= 0) accept_client(p, client);
  else if (client != -EAGAIN) __cairn_rest(p, -EACCES, 10 * MS); /* it is still there, and cannot be accepted */
}

void __cairn_control_thread(struct process *p) {
  sys2(SYS_prctl, 15 /* PR_SET_NAME */, "cairn-control");
  i64 fd = own_files() ? open_socket(p) : -EAGAIN;
  if (fd < 0) {
    store(&p->control.failed, (u32)-fd); /* the thread of the log has a standard error, and reports it */
    __cairn_wake(p);
    sys1(SYS_exit, 0);
  }
  for (u32 i = 0; i < CONTROL_CLIENTS; i++) p->control.client[i].fd = -1;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (load(&p->ended)) __cairn_control_end(p); /* which ran before the socket existed */
  while (!load(&p->deserted)) wait_for_input(p, fd);
  __cairn_follow(p->pid);
}

/* control_end removes the socket at the end of the process. */
void __cairn_control_end(struct process *p) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (p->control.path[0]) remove_file(p->control.path);
}

/* ---- the file that is read on a signal ---- */

static void on_reload(int sig) {
  struct process *p = __cairn_state;
  (void)sig;
  if (!p) return;
  store(&p->control.reload, 1);
  __cairn_wake(p);
}

DEFINE_RESTORER(restorer, ".Lcairn_timed_restorer");

/* signal_of reads the number of a signal, or one of a few names; 0 if it is neither. */
i32 __cairn_signal_of(const char *s) {
  static const struct {
    const char *name;
    i32 number;
  } names[] = {{"SIGHUP", 1}, {"SIGUSR1", 10}, {"SIGUSR2", 12}, {"SIGWINCH", 28}, {"SIGURG", 23}, {"SIGIO", 29}};
  for (u32 i = 0; i < sizeof names / sizeof names[0]; i++)
    if (__cairn_word_is(s, names[i].name) || __cairn_word_is(s, names[i].name + 3)) return names[i].number;
  u32 v = 0;
  for (; *s >= '0' && *s <= '9' && v < 100; s++) v = v * 10 + (u32)(*s - '0');
  return v > 64 || (*s && *s != ',') ? 0 : (i32)v;
}

/* reload_start installs the handler, unless the program inherited another disposition of the
 * signal. A handler of the program replaces it. */
void __cairn_reload_start(struct process *p) {
  struct {
    u64 handler, flags, restorer, mask;
  } a;
  if (!p->control.signal) return;
  if (!p->control.file[0]) {
    __cairn_misread("reload", " needs file=PATH, the file to read; ignored");
  } else if (sys4(SYS_rt_sigaction, p->control.signal, 0, &a, 8) < 0 || a.handler) {
    __cairn_misread("reload", ": the signal is in use; ignored");
  } else {
    a.handler = (uword)on_reload;
    a.flags = SA_RESTORER | 0x18000000; /* SA_ONSTACK | SA_RESTART */
    a.restorer = (u64)restorer;
    a.mask = 0;
    if (sys4(SYS_rt_sigaction, p->control.signal, &a, 0, 8) >= 0) return;
    __cairn_misread("reload", ": the signal cannot be handled; ignored");
  }
  p->control.signal = 0;
}

/* reload reads the file and applies its words. */
static void reload(struct process *p) {
  char line[LINE];
  u64 n = 0;
  i64 r, fd = open_file(p->control.file, O_RDONLY | O_CLOEXEC | 04000 /* O_NONBLOCK */, 0);
  while (fd >= 0 && n < LINE && (r = sys3(SYS_read, fd, line + n, LINE - n)) > 0) n += (u64)r;
  if (fd >= 0) sys1(SYS_close, fd);
  if (fd < 0 || n == LINE) {
    __cairn_misread(p->control.file, fd < 0 ? " cannot be read; nothing is changed" : " is too long; nothing is changed");
    return;
  }
  line[n] = 0;
  commas(line);
  const char *wrong = __cairn_set(p, line);
  if (wrong) __cairn_misread(wrong, " is invalid, or names no channel here; nothing is changed");
}

/* control is called by the log's thread from time to time. */
void __cairn_control(struct process *p) {
  u32 err = load(&p->control.failed);
  if (load(&p->control.reload)) {
    store(&p->control.reload, 0);
    reload(p);
  }
  if (err) {
    char b[64];
    put_number(put(b, ": no socket: errno "), err);
    __cairn_misread("control", b);
    store(&p->control.failed, 0);
  }
  int placed = p->control.at[0] || p->log.file.fd >= 0;
  if (!p->control.wanted || p->control.started || !placed) return;
  p->control.started = 1;
  if (__cairn_spawn(__cairn_control_thread, p, p->control.stack) < 0) store(&p->control.failed, EAGAIN);
}
