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

static void say(const char *text) {
  u32 n = 0, done;
  while (text[n]) n++;
  WriteFile(GetStdHandle((u32)-12), text, n, &done, 0);
}

/* goes_on: Ctrl-C is for the program. */
static i32 goes_on(u32 event) { return event < 2; }

/* load loads the DLL into a process, and reports whether it is there. */
static int load(void *process) {
  static const u16 name[] = u"cairn_detours.dll";
  enum { ROOM = 1024, COMMIT = 0x3000, READWRITE = 4, FOREVER = -1 };
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
  return GetExitCodeThread(thread, &loaded) && loaded;
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
  ResumeThread(p.thread);
  WaitForSingleObject(p.process, (u32)FOREVER);
  GetExitCodeProcess(p.process, &code);
  ExitProcess(code);
}
