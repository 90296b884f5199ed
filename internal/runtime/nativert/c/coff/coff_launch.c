/* cairn_detours.exe PROGRAM ARGUMENTS...: starts a program with cairn_detours.dll, which is beside it, and ends with its exit code. The
 * program's entry waits until the DLL is loaded. */

#include "coff_types.h"

#define IMPORT(type, name, ...) __declspec(dllimport) type name(__VA_ARGS__)

IMPORT(u16 *, GetCommandLineW, void);
IMPORT(u32, GetModuleFileNameW, const void *, u16 *, u32);
IMPORT(void *, GetModuleHandleW, const u16 *);
IMPORT(void *, GetProcAddress, void *, const char *);
IMPORT(u32, GetLastError, void);
IMPORT(void *, GetStdHandle, u32);
IMPORT(i32, WriteFile, void *, const void *, u32, u32 *, void *);
IMPORT(void, ExitProcess, u32);
IMPORT(i32, SetConsoleCtrlHandler, i32 (*)(u32), i32);
IMPORT(void, GetStartupInfoW, void *);
IMPORT(i32, CreateProcessW, const u16 *, u16 *, void *, void *, i32, u32, void *, const u16 *, void *, void *);
IMPORT(void *, VirtualAllocEx, void *, void *, u64, u32, u32);
IMPORT(i32, WriteProcessMemory, void *, void *, const void *, u64, u64 *);
IMPORT(void *, CreateRemoteThread, void *, void *, u64, void *, void *, u32, u32 *);
IMPORT(u32, WaitForSingleObject, void *, u32);
IMPORT(i32, GetExitCodeThread, void *, u32 *);
IMPORT(i32, GetExitCodeProcess, void *, u32 *);
IMPORT(u32, ResumeThread, void *);
IMPORT(void *, CreateJobObjectW, void *, const u16 *);
IMPORT(i32, SetInformationJobObject, void *, u32, const void *, u32);
IMPORT(i32, AssignProcessToJobObject, void *, void *);
IMPORT(i32, QueryInformationJobObject, void *, u32, void *, u32, u32 *);
IMPORT(i32, K32EnumProcessModules, void *, void **, u32, u32 *);
IMPORT(u32, K32GetModuleFileNameExW, void *, void *, u16 *, u32);

static void say(const char *text) {
  u32 n = 0, done;
  while (text[n]) n++;
  WriteFile(GetStdHandle((u32)-12), text, n, &done, 0);
}

/* goes_on: Ctrl-C is for the program. */
static i32 goes_on(u32 event) { return event < 2; }

enum { ROOM = 1024 };
static const u16 name[] = u"cairn_detours.dll";

/* is_loaded reports whether a process has the DLL. */
static int is_loaded(void *process) {
  static void *modules[ROOM];
  static u16 path[ROOM];
  u32 size = 0, letters = sizeof name / 2 - 1;
  if (!K32EnumProcessModules(process, modules, sizeof modules, &size)) return 0;
  for (u32 k = 0; k < size / sizeof *modules && k < ROOM; k++) {
    u32 n = K32GetModuleFileNameExW(process, modules[k], path, ROOM), i = 0;
    while (n > letters && i < letters && (path[n - letters + i] | 0x20) == (name[i] | 0x20)) i++;
    if (i == letters) return 1;
  }
  return 0;
}

/* load loads the DLL into a process, and reports whether it is there. */
static int load(void *process) {
  enum { COMMIT = 0x3000, READWRITE = 4, FOREVER = -1 };
  static u16 path[ROOM + sizeof name];
  u32 n = GetModuleFileNameW(0, path, ROOM), loaded = 0;
  if (!n || n == ROOM) return 0;
  while (n && path[n - 1] != '\\') n--;
  for (u32 i = 0; i < sizeof name / 2; i++) path[n + i] = ((volatile const u16 *)name)[i];
  void *at = VirtualAllocEx(process, 0, sizeof path, COMMIT, READWRITE);
  void *entry = GetProcAddress(GetModuleHandleW(u"kernel32.dll"), "LoadLibraryW");
  if (!at || !entry || !WriteProcessMemory(process, at, path, sizeof path, 0)) return 0;
  void *thread = CreateRemoteThread(process, 0, 0, entry, at, 0, 0);
  if (!thread) return 0;
  WaitForSingleObject(thread, (u32)FOREVER);
  return GetExitCodeThread(thread, &loaded) && (loaded || is_loaded(process)); /* the code is the low half of its address */
}

/* watch_children makes a job that knows how many processes a process starts; 0 if there is none. They may leave it if they ask for that. */
static void *watch_children(void *process) {
  enum { EXTENDED_LIMITS = 9, BREAKAWAY_OK = 0x800 };
  static u64 limits[18] = {0, 0, BREAKAWAY_OK};
  void *job = CreateJobObjectW(0, 0);
  if (!job || !SetInformationJobObject(job, EXTENDED_LIMITS, limits, sizeof limits)) return 0;
  return AssignProcessToJobObject(job, process) ? job : 0;
}

/* tell_children says how many processes were started, which have no hooks. */
static void tell_children(void *job) {
  enum { ACCOUNTING = 1 };
  static char text[] = "cairn: processes that the program started, which are not hooked: \0........\n";
  struct {
    u64 times[4];
    u32 faults, processes, active, terminated;
  } x;
  u32 end = sizeof text - 2;
  if (!job || !QueryInformationJobObject(job, ACCOUNTING, &x, sizeof x, 0) || x.processes < 2) return;
  for (u32 n = x.processes - 1; n; n /= 10) text[--end] = (char)('0' + n % 10);
  say(text), say(text + end);
}

/* arguments returns what follows the first word of a command line. */
static u16 *arguments(u16 *s) {
  int quoted = 0;
  for (; *s && (quoted || (*s != ' ' && *s != '\t')); s++) quoted ^= *s == '"';
  while (*s == ' ' || *s == '\t') s++;
  return s;
}

void __cairn_launch(void) {
  enum { SUSPENDED = 4, FAILED = 125, FOREVER = -1 };
  static u64 startup[13];
  struct {
    void *process, *thread;
    u32 pid, tid;
  } p;
  u32 code = FAILED;
  u16 *command = arguments(GetCommandLineW());
  if (!*command) say("cairn_detours PROGRAM ARGUMENTS...\n"), ExitProcess(2);
  GetStartupInfoW(startup);
  SetConsoleCtrlHandler(goes_on, 1);
  if (!CreateProcessW(0, command, 0, 0, 1, SUSPENDED, 0, 0, startup, &p)) say("cairn: the program cannot be started\n"), ExitProcess(FAILED);
  if (!load(p.process)) say("cairn: cairn_detours.dll cannot be loaded into the program, which runs without it\n");
  void *job = watch_children(p.process);
  ResumeThread(p.thread);
  WaitForSingleObject(p.process, (u32)FOREVER);
  GetExitCodeProcess(p.process, &code);
  tell_children(job);
  ExitProcess(code);
}
