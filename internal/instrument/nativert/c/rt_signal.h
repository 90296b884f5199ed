/* The signals that the runtime handles, for rt.c. */

static void on_signal(int sig) {
  (void)sig;
  __cairn_dump();
}

/* watch has CAIRN_SIGNAL, a number, write the files. */
static void watch(const char *s) {
  u32 sig = 0;
  while (*s >= '0' && *s <= '9') sig = sig * 10 + (u32)(*s++ - '0');
  if (!*s) st.sig = handle(sig, on_signal, SA_RESTORER | SA_RESTART);
}

/* on_bus survives that a file was made shorter. All else is as it is without: the
 * access is made again, or the signal sent again, and nobody handles it. */
static void on_bus(int sig, const i32 *info) {
  int access = info[2] > 0;
  if (access && call_all(LOST, *(const uword *)(info + SI_ADDR))) return;
  /* There may be another handler, which passes on what it does not know. */
  set_handler(sig, 0, 0);
  if (!access) sys4(SYS_tgkill, sys0(SYS_getpid), sys0(SYS_gettid), sig, 0);
}

static int first_calls(struct dl_info *i, uword size, void *arg) {
  (void)size;
  u32 len;
  *(const u8 **)arg = calls_of(i, &len);
  return 1;
}

/* guard installs on_bus, in the executable, if that is of cairn's: it is never unloaded. */
static void guard(void) {
  const u8 *d = 0;
  u32 sig;
  if (!st.main && dl_iterate_phdr) dl_iterate_phdr(first_calls, &d);
  if (d) return;
  sig = handle(SIGBUS, on_bus, SA_RESTORER | SA_SIGINFO | SA_ONSTACK);
  if (sig && !st.main) st.bus = sig; /* a second time it is there already */
}
