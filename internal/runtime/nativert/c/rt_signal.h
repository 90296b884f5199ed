/* Signal handlers of the runtime, for rt.c. */

static void on_signal(int sig) {
  (void)sig;
  __cairn_dump();
}

/* watch installs the handler of CAIRN_SIGNAL, a number: the signal writes the files. */
static void watch(const char *s) {
  u32 sig = 0;
  while (*s >= '0' && *s <= '9') sig = sig * 10 + (u32)(*s++ - '0');
  if (!*s) st.sig = handle(sig, on_signal, SA_RESTORER | SA_RESTART);
}

/* on_bus handles truncated files. Any other access has the same effect as without it: it is
 * repeated, or the signal is sent again, without a handler. */
static void on_bus(int sig, const i32 *info) {
  int access = info[2] > 0;
  if (access && call_all(LOST, *(const uword *)(info + SI_ADDR))) return;
  /* Another handler may exist that calls this one for unknown addresses. */
  set_handler(sig, 0, 0);
  if (!access) sys4(SYS_tgkill, sys0(SYS_getpid), sys0(SYS_gettid), sig, 0);
}

static int first_calls(struct dl_info *i, uword size, void *arg) {
  (void)size;
  u32 len;
  *(const u8 **)arg = calls_of(i, &len);
  return 1;
}

/* guard installs on_bus in an instrumented executable, which is never unloaded. */
static void guard(void) {
  const u8 *d = 0;
  u32 sig;
  if (!st.main && dl_iterate_phdr) dl_iterate_phdr(first_calls, &d);
  if (d) return;
  sig = handle(SIGBUS, on_bus, SA_RESTORER | SA_SIGINFO | SA_ONSTACK);
  if (sig && !st.main) st.bus = sig; /* otherwise it is installed already */
}
