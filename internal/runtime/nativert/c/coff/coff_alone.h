/* A thread of the runtime, without which the process would end with the last thread of the program. Windows goes on as long as
 * there is a thread, and the last one's exit code is that of the process. */

IMPORT(void *, OpenThread, u32, i32, u32);
IMPORT(i32, GetExitCodeThread, void *, u32 *);
IMPORT(void *, GetModuleHandleW, const u16 *);
IMPORT(void *, GetProcAddress, void *, const char *);
IMPORT(void, ExitProcess, u32);

static void *last_ended; /* handle of the thread of the program that ended last */

/* thread_ends notes that this thread of the program ends. */
static void thread_ends(void) {
  enum { QUERY_LIMITED = 0x800 };
  void *h = __atomic_exchange_n(&last_ended, OpenThread(QUERY_LIMITED, 0, GetCurrentThreadId()), __ATOMIC_ACQ_REL);
  if (h) CloseHandle(h);
}

/* query_thread asks the kernel about a thread; below 0: it does not say. */
static i32 query_thread(void *handle, u32 what, void *to, u32 size) {
  typedef i32 (*query)(void *, u32, void *, u32, u32 *);
  static query ask;
  if (!ask) ask = (query)GetProcAddress(GetModuleHandleW(u"ntdll.dll"), "NtQueryInformationThread");
  return ask ? ask(handle, what, to, size, 0) : -1;
}

/* is_alone reports whether there is no other thread than this one. */
static int is_alone(void) {
  enum { AM_I_LAST = 12 }; /* ThreadAmILastThread */
  u32 last = 0;
  return query_thread((void *)-2, AM_I_LAST, &last, sizeof last) >= 0 && last;
}

/* end_process ends the process as its last thread did. */
static void end_process(void) {
  u32 code = 0;
  if (last_ended) GetExitCodeThread(last_ended, &code);
  ExitProcess(code);
}
