/* A program with most marks, which says whether they are on, and that they keep the last error. */
#include "cairn.h"
#include <stdio.h>
#ifdef _WIN32
#ifdef __cplusplus
extern "C" {
#endif
__declspec(dllimport) void SetLastError(unsigned long);
__declspec(dllimport) unsigned long GetLastError(void);
#ifdef __cplusplus
}
#endif
#else
#include <errno.h>
#define SetLastError(n) (errno = (n))
#define GetLastError() ((unsigned long)errno)
#endif

CAIRN_CHANNEL(ai);

static void told(const struct cairn_spike *s) { (void)s; }

static int work(int n) {
  CAIRN_FUNCTION();
  CAIRN_DESCF("%d of %s", n, "three");
  CAIRN_THRESHOLD(16.7);
  CAIRN_CHILDREN_THRESHOLD(2);
  CAIRN_SECTION("part") { n++; }
  CAIRN_IGNORE_IF(cairn_channel(ai));
  CAIRN_OVERTIMEF("%d", n);
  CAIRN_FRAME();
  cairn_pause();
  cairn_resume();
  cairn_snapshot();
  return n;
}

int main(void) {
  SetLastError(7);
  cairn_on_spike(told);
  cairn_threshold(1000);
  cairn_thread_name("worker");
  cairn_channel_set(ai, 0);
  int n = work(1);
  cairn_thread_active(0);
  n = work(n);
  if (GetLastError() != 7) printf("error %lu\n", GetLastError());
#ifdef CAIRN_ON
  printf("on %d\n", n);
#else
  printf("off %d\n", n);
#endif
  return 0;
}
