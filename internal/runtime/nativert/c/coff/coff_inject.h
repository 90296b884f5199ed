/* The DLL of detours is loaded into a process that does not run yet: by a thread that is started there, the first. */

IMPORT(void *, VirtualAllocEx, void *, void *, u64, u32, u32);
IMPORT(i32, WriteProcessMemory, void *, void *, const void *, u64, u64 *);
IMPORT(void *, CreateRemoteThread, void *, void *, u64, void *, void *, u32, u32 *);
IMPORT(u32, K32GetModuleFileNameExW, void *, void *, u16 *, u32);

enum { ROOM = 1024 };
static const u16 library[] = u"cairn_detours.dll";
enum { LIBRARY_LETTERS = sizeof library / 2 - 1 };

/* is_loaded reports whether a process has the DLL. */
static int is_loaded(void *process) {
  static void *modules[ROOM];
  static u16 path[ROOM];
  u32 size = 0;
  if (!K32EnumProcessModules(process, (void *)modules, sizeof modules, &size)) return 0;
  for (u32 k = 0; k < size / sizeof *modules && k < ROOM; k++) {
    u32 n = K32GetModuleFileNameExW(process, modules[k], path, ROOM), i = 0;
    while (n > LIBRARY_LETTERS && i < LIBRARY_LETTERS && (path[n - LIBRARY_LETTERS + i] | 0x20) == (library[i] | 0x20)) i++;
    if (i == LIBRARY_LETTERS) return 1;
  }
  return 0;
}

/* inject loads the DLL, which is beside a module, into a process, and reports whether it is there. */
static int inject(void *process, const void *beside, u32 timeout) {
  enum { COMMIT = 0x3000, READWRITE_PAGES = 4 };
  u16 path[ROOM + LIBRARY_LETTERS + 1];
  u32 n = GetModuleFileNameW(beside, path, ROOM), loaded = 0;
  if (!n || n == ROOM) return 0;
  while (n && path[n - 1] != '\\') n--;
  for (u32 i = 0; i <= LIBRARY_LETTERS; i++) path[n + i] = ((volatile const u16 *)library)[i];
  void *at = VirtualAllocEx(process, 0, sizeof path, COMMIT, READWRITE_PAGES);
  void *entry = GetProcAddress(GetModuleHandleW(u"kernel32.dll"), "LoadLibraryW");
  if (!at || !entry || !WriteProcessMemory(process, at, path, sizeof path, 0)) return 0;
  void *thread = CreateRemoteThread(process, 0, 0, entry, at, 0, 0);
  if (!thread) return 0;
  u32 ended = WaitForSingleObject(thread, timeout);
  int there = !ended && GetExitCodeThread(thread, &loaded) && (loaded || is_loaded(process)); /* the code is the low half of its address */
  CloseHandle(thread);
  return there;
}
