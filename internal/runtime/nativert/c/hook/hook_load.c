/* The start of the library that is preloaded into a program: it enables hooks and changes
 * code before the program's constructors run. It writes a report to the file that
 * CAIRN_HOOK_SUMMARY names, with these lines:
 *
 *   PID refused REASON               no return address is replaced
 *   PID entries N ... in MODULE      -fpatchable-function-entry
 *   PID detours ...                  see detour.c
 */

#include "hook.h"

enum { O_WRONLY = 1, O_APPEND = 02000 };

HIDDEN void __cairn_patch_entries(const char *refused);

HIDDEN const u8 __cairn_hook_starter = 0;
static const char *summary_path;
static u32 threads_before;

void __cairn_hook_summary(const char *text) {
  char b[4096], *q = put_number(b, (u64)sys0(SYS_getpid));
  i64 fd = summary_path ? sys3(SYS_open, summary_path, O_WRONLY | O_APPEND | O_CLOEXEC, 0) : 2;
  *q++ = ' ';
  while (*text && q < b + sizeof b - 2) *q++ = *text++;
  *q++ = '\n';
  if (fd == 2 && summary_path == 0) q = b; /* there is no report */
  if (fd >= 0 && q != b) sys3(SYS_write, fd, b, q - b);
  if (fd > 2) sys1(SYS_close, fd);
}

/* count_threads returns the number of threads of the process. It is called before the clock
 * starts its thread. */
static u32 count_threads(void) {
  char b[1024];
  i64 fd = sys3(SYS_open, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0), n, i;
  if (fd < 0) return 0;
  n = sys3(SYS_read, fd, b, sizeof b - 1);
  sys1(SYS_close, fd);
  for (i = n; i > 0 && b[i - 1] != ')'; i--) {
  }
  u32 field = 2, v = 0;
  for (; i < n && field < 20; i++) field += b[i] == ' ';
  for (; i < n && b[i] >= '0' && b[i] <= '9'; i++) v = v * 10 + (u32)(b[i] - '0');
  return v;
}

/* prepare reads the environment and counts the threads before the clock starts: it is linked in
 * front of that. */
static void prepare(int argc, char **argv, char **envp) {
  static const char name[] = "CAIRN_HOOK_SUMMARY=";
  (void)argc, (void)argv;
  for (; envp && *envp; envp++) {
    const char *p = *envp, *q = name;
    while (*q && *p == *q) p++, q++;
    if (!*q && *p) summary_path = p;
  }
  threads_before = count_threads();
}

static void start(int argc, char **argv, char **envp) {
  const char *why = __cairn_hook_start();
  char b[512];
  (void)argc, (void)argv;
  if (!__cairn_state || __cairn_state->off) return;
  if (why) {
    put(put(b, "refused "), why);
    __cairn_hook_summary(b);
  }
  const char *no_patch = why;
  if (!why && threads_before != 1) no_patch = "the program has threads before its constructors run";
  __cairn_patch_entries(no_patch);
  if (!why && __cairn_detours) __cairn_detours(__cairn_state, envp, threads_before);
}

__attribute__((section(".init_array.00000"), used)) static void (*const first)(int, char **, char **) = prepare;
__attribute__((section(".init_array.00001"), used)) static void (*const then)(int, char **, char **) = start;
