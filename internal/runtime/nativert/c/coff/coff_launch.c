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
IMPORT(u32, WaitForSingleObject, void *, u32);
IMPORT(i32, GetExitCodeThread, void *, u32 *);
IMPORT(i32, GetExitCodeProcess, void *, u32 *);
IMPORT(u32, ResumeThread, void *);
IMPORT(void *, CreateJobObjectW, void *, const u16 *);
IMPORT(i32, SetInformationJobObject, void *, u32, const void *, u32);
IMPORT(i32, AssignProcessToJobObject, void *, void *);
IMPORT(i32, QueryInformationJobObject, void *, u32, void *, u32, u32 *);
IMPORT(i32, K32EnumProcessModules, void *, void **, u32, u32 *);
IMPORT(u32, GetCurrentProcessId, void);
IMPORT(i32, CloseHandle, void *);
IMPORT(i32, SetEnvironmentVariableW, const u16 *, const u16 *);
IMPORT(void *, CreateSemaphoreW, void *, i32, i32, const u16 *);
IMPORT(i32, ReleaseSemaphore, void *, i32, i32 *);

#include "coff_inject.h"

typedef u16 letter;
#include "rt_text.h"

static void say(const char *text) {
  u32 n = 0, done;
  while (text[n]) n++;
  WriteFile(GetStdHandle((u32)-12), text, n, &done, 0);
}

/* goes_on: Ctrl-C is for the program. */
static i32 goes_on(u32 event) { return event < 2; }

/* watch_children makes a job that knows how many processes a process starts; 0 if there is none. They may leave it if they ask for that. */
static void *watch_children(void *process) {
  enum { EXTENDED_LIMITS = 9, BREAKAWAY_OK = 0x800 };
  static u64 limits[18] = {0, 0, BREAKAWAY_OK};
  void *job = CreateJobObjectW(0, 0);
  if (!job || !SetInformationJobObject(job, EXTENDED_LIMITS, limits, sizeof limits)) return 0;
  return AssignProcessToJobObject(job, process) ? job : 0;
}

/* count_hooked makes what counts the processes that are hooked, and tells the program its name. */
static void *count_hooked(void) {
  enum { MOST = 0x7fffffff };
  static u16 name[64];
  put_number(put(name, u"Local\\cairn-detours-"), GetCurrentProcessId());
  void *h = CreateSemaphoreW(0, 0, MOST, name);
  if (h) SetEnvironmentVariableW(u"CAIRN_DETOURS_CHILDREN", name);
  return h;
}

/* tell_children says how many processes were started that have no hooks. */
static void tell_children(void *job, void *counter) {
  enum { ACCOUNTING = 1 };
  static char text[] = "cairn: processes that the program started, which are not hooked: \0........\n";
  struct {
    u64 times[4];
    u32 faults, processes, active, terminated;
  } x;
  u32 end = sizeof text - 2;
  i32 hooked = 0;
  if (counter) ReleaseSemaphore(counter, 1, &hooked);
  if (!job || !QueryInformationJobObject(job, ACCOUNTING, &x, sizeof x, 0) || x.processes < 2 + (u32)hooked) return;
  for (u32 n = x.processes - 1 - (u32)hooked; n; n /= 10) text[--end] = (char)('0' + n % 10);
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
  void *counter = count_hooked();
  if (!CreateProcessW(0, command, 0, 0, 1, SUSPENDED, 0, 0, startup, &p)) say("cairn: the program cannot be started\n"), ExitProcess(FAILED);
  if (!inject(p.process, 0, (u32)FOREVER)) say("cairn: cairn_detours.dll cannot be loaded into the program, which runs without it\n");
  void *job = watch_children(p.process);
  ResumeThread(p.thread);
  WaitForSingleObject(p.process, (u32)FOREVER);
  GetExitCodeProcess(p.process, &code);
  tell_children(job, counter);
  ExitProcess(code);
}
