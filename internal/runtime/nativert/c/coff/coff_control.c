/* Control while the program runs. Requests and answers are those of c/timed/timed_control.c; internal/spikes/spikecontrol is the
 * client. They go through a pipe, \\.\pipe\cairn-PID, which only the user of the process can open, and nobody from another machine.
 * The clock's thread serves it, a client at a time, and waits for none: the kernel sets a word when it has done what it was
 * asked for. A thread of its own would keep a process whose other threads have ended. */

struct transfer { /* OVERLAPPED of winbase.h */
  u64 status, bytes, at;
  void *event;
};
struct attributes { /* SECURITY_ATTRIBUTES, SECURITY_DESCRIPTOR, ACL and an ACCESS_ALLOWED_ACE of winnt.h */
  u32 size;
  const void *descriptor;
  i32 inherits;
};
struct descriptor {
  u8 revision, unused;
  u16 control;
  const void *owner, *group, *sacl, *dacl;
};
struct rights {
  u8 revision, unused;
  u16 size, count, unused2;
  u8 type, flags;
  u16 entry;
  u32 mask;
  u8 user[68];
};

IMPORT(void *, CreateNamedPipeW, const u16 *, u32, u32, u32, u32, u32, u32, const struct attributes *);
IMPORT(i32, ConnectNamedPipe, void *, struct transfer *);
IMPORT(i32, DisconnectNamedPipe, void *);

static u16 *set_words(struct process *p, u16 *words); /* see coff_words.c */

enum { LINE = 4096, REPLY = 8192, PATIENCE = 1000 /* ms */, PENDING = 0x103, LETTERS = 4096 };

/* What the pipe waits for: a client, its request, that the answer is sent, that the client has read it and leaves, and that the kernel
 * has given up what the client left behind. */
enum { COMES, ASKS, HEARS, LEAVES, GONE };

static struct control {
  void *pipe; /* 0: none yet */
  u32 stage, n;
  u64 since; /* of the client */
  struct transfer transfer;
  char line[LINE], reply[REPLY];
} control;

/* ---- the pipe ---- */

/* grant makes rights that this process' user has, and nobody else; 0 if the user is not known. */
static int grant(struct rights *r) {
  enum { QUERY = 8, USER = 1, ALL = 0x1f01ff };
  void *ntdll = GetModuleHandleW(u"ntdll.dll"), *token = 0;
  i32 (*open)(void *, u32, void **) = (i32 (*)(void *, u32, void **))GetProcAddress(ntdll, "NtOpenProcessToken");
  i32 (*ask)(void *, u32, void *, u32, u32 *) = (i32 (*)(void *, u32, void *, u32, u32 *))GetProcAddress(ntdll, "NtQueryInformationToken");
  struct {
    const u8 *sid;
    u64 unused;
    u8 room[sizeof r->user];
  } user;
  u32 size = 0;
  if (!open || !ask || open((void *)-1, QUERY, &token) < 0) return 0;
  i32 result = ask(token, USER, &user, sizeof user, &size);
  CloseHandle(token);
  if (result < 0) return 0;
  u32 n = 8 + 4 * user.sid[1];
  copy(r->user, user.sid, n);
  r->revision = 2, r->count = 1, r->size = (u16)(16 + n), r->entry = (u16)(8 + n), r->mask = ALL;
  return 1;
}

/* open_pipe makes the pipe, of which this is the first and only end: no other process can have taken the name. */
static void open_pipe(struct process *p, struct control *c) {
  enum { DUPLEX = 3, OVERLAPPED = 0x40000000, FIRST = 0x80000, NO_REMOTE = 8, DACL_PROTECTED = 0x1004 };
  u16 name[64], text[128];
  struct rights rights = {0};
  struct descriptor d = {1, 0, DACL_PROTECTED, rights.user, 0, 0, &rights};
  struct attributes a = {sizeof a, &d, 0};
  put_number(put(name, u"\\\\.\\pipe\\cairn-"), p->pid);
  int known = grant(&rights);
  if (known) c->pipe = CreateNamedPipeW(name, DUPLEX | OVERLAPPED | FIRST, NO_REMOTE, 1, REPLY, LINE, 0, &a);
  else c->pipe = (void *)-1;
  if (c->pipe != (void *)-1) return;
  u32 failure = GetLastError();
  p->control.wanted = 0;
  u16 *q = put(put_number(put(put(put(text, u"cairn: CAIRN_SPIKE: control: no pipe "), name), known ? u": error " : u": its user is not known, error "), known ? failure : 0), u"\n");
  print(text, (u32)(q - text));
}

/* transfer starts what a stage waits for, and reports whether it could. */
static int transfer(struct control *c, u32 stage) {
  enum { IO_PENDING = 997, PIPE_CONNECTED = 535 };
  u32 unused;
  c->stage = stage;
  c->transfer = (struct transfer){PENDING, 0, 0, 0};
  i32 done = stage == COMES   ? ConnectNamedPipe(c->pipe, &c->transfer)
             : stage == HEARS ? WriteFile(c->pipe, c->reply, c->n, &unused, &c->transfer)
                              : ReadFile(c->pipe, c->line + c->n, LINE - c->n, &unused, &c->transfer);
  u32 failure = done ? 0 : GetLastError();
  if (failure == PIPE_CONNECTED) store(&c->transfer.status, 0);
  if (done || failure == IO_PENDING || failure == PIPE_CONNECTED) return 1;
  store(&c->transfer.status, 0);
  return 0;
}

/* part closes the connection. */
static void part(struct control *c) {
  DisconnectNamedPipe(c->pipe);
  c->stage = GONE;
}

/* ---- requests ---- */

/* put_bytes puts a text in UTF-8. */
static u16 *put_bytes(u16 *q, const char *text) {
  while (*text) *q++ = (u8)*text++;
  *q = 0;
  return q;
}

static u16 *put_value(u16 *q, const u16 *name, u64 v) {
  u16 b[24], *digit = b + 23;
  *digit = 0;
  do *--digit = (u16)('0' + v % 10);
  while (v /= 10);
  return put(put(put(put(q, name), u" "), digit), u"\n");
}

/* put_path puts a name, and a path without control characters. */
static u16 *put_path(u16 *q, const u16 *name, const u16 *path) {
  q = put(put(q, name), u" ");
  for (u32 i = 0; path[i] && i < MAX_PATH; i++) *q++ = path[i] < ' ' ? '?' : path[i];
  return put(q, u"\n");
}

/* put_channels puts a line for each channel, while there is room, and one with the number of the others. */
static u16 *put_channels(struct process *p, u16 *q, const u16 *end) {
  u32 omitted = 0;
  for (u32 i = 0, n = load(&p->channel.sets); i < n && i < BASES; i++)
    for (struct channel *c = p->channel.set[i].from; c < p->channel.set[i].to; c++) {
      int first = 1; /* of that name */
      for (u32 j = 0; c->name && j <= i && first; j++)
        for (struct channel *d = p->channel.set[j].from; d < (j < i ? p->channel.set[j].to : c) && first; d++) first = !d->name || !same(d, c->name);
      if (!c->name || !first) continue;
      if ((u64)(end - q) < bytes_of(c->name) + 48) omitted++;
      else q = put(put_bytes(put(q, u"channel "), c->name), load(&c->on) ? u" on\n" : u" off\n");
    }
  return omitted ? put_value(q, u"omitted", omitted) : q;
}

/* describe puts the current settings and counts. */
static u16 *describe(struct process *p, u16 *q, const u16 *end) {
  q = put_value(put(q, u"cairn 1\n"), u"pid", p->pid);
  q = put_path(q, u"program", p->places ? p->module->path : u"");
  q = put_path(q, u"log", p->file ? p->path : u"");
  q = put(q, p->quiet ? u"state off\n" : u"state on\n");
  q = put_value(q, u"threshold", load(&p->threshold));
  q = put_value(q, u"period", p->period);
  q = put_value(q, u"rate", p->rate);
  q = put_value(q, u"episodes", load(&p->episodes) - load(&p->snapshots));
  q = put_value(q, u"frame", load(&p->frames.current));
  q = put_channels(p, q, end - 8);
  return put(q, u"end\n");
}

/* asks reports whether a request begins with a word, which nothing or a blank follows. */
static int asks(const char *line, const char *word) {
  while (*word && *line == *word) line++, word++;
  return !*word && (!*line || *line == ' ');
}

/* words_of makes a list with commas from what follows "set" in a request. */
static void words_of(u16 *to, const char *line) {
  u32 n = (u32)MultiByteToWideChar(UTF8, 0, line + 3, -1, to, LETTERS);
  if (!n) to[0] = '?', to[1] = 0;
  for (; *to && *to != '#'; to++)
    if (*to <= ' ') *to = ',';
  *to = 0;
}

/* end_word ends a list at the end of a word. */
static void end_word(u16 *s) {
  while (*s && *s != ',') s++;
  *s = 0;
}

/* serve writes the answer to a request, 0 for one that did not arrive. Channels of a module do not go away meanwhile. */
static void serve(struct process *p, struct control *c, const char *line) {
  static u16 words[LETTERS], text[LETTERS];
  u16 *wrong = 0;
  u16 *q = text;
  lock(&p->control.lock);
  if (!line || !(asks(line, "set") || asks(line, "show") || asks(line, "look"))) {
    q = put(q, u"error a request is a line, show, look or set with words\n");
  } else {
    if (asks(line, "set")) words_of(words, line), wrong = set_words(p, words);
    if (wrong) end_word(wrong);
    q = wrong ? put(put_some(put(q, u"error "), wrong, 100), u" is invalid, or names no channel here; nothing is changed\n") : describe(p, q, text + REPLY / 3);
  }
  unlock(&p->control.lock);
  c->n = (u32)WideCharToMultiByte(UTF8, 0, text, (i32)(q - text), c->reply, REPLY, 0, 0);
}

/* hear takes what has arrived of a request, and answers after a line. */
static int hear(struct process *p, struct control *c, u64 n) {
  const char *line = 0;
  u32 whole = 0;
  for (u64 to = c->n + n; c->n < to && !whole; c->n++)
    if (c->line[c->n] == '\n') c->line[c->n] = 0, line = c->line, whole = 1;
  if (!whole && n && c->n < LINE) return transfer(c, ASKS);
  if (line && asks(line, "look") && !load(&p->ended)) open_all(p), look(p);
  serve(p, c, line);
  return transfer(c, HEARS);
}

/* serve_control does what can be done at once for a client; the clock's thread calls it at each tick. */
static void serve_control(struct process *p) {
  struct control *c = &control;
  if (!p->control.wanted) return;
  if (!c->pipe) open_pipe(p, c), c->stage = GONE;
  if (!p->control.wanted) return;
  u64 status = load(&c->transfer.status);
  int fails = (i32)status < 0;
  if (status == PENDING) {
    if (c->stage != COMES && c->stage != GONE && now(p) - c->since > PATIENCE * MS) part(c);
    return;
  }
  switch (c->stage) {
  case GONE:
    c->n = 0;
    if (!transfer(c, COMES)) part(c);
    return;
  case COMES:
    c->since = now(p), c->n = 0;
    if (fails || !transfer(c, ASKS)) part(c);
    return;
  case ASKS:
    if (fails || !hear(p, c, c->transfer.bytes)) part(c);
    return;
  case HEARS:
    c->n = 0;
    if (fails || !transfer(c, LEAVES)) part(c);
    return;
  default: part(c);
  }
}
