// Calls that wait for a lock that another thread has: one until it is released, one that has not ended when the program does. For Windows, by
// critical sections, and for Linux.
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
typedef CRITICAL_SECTION lock_type;
#define INIT(l) InitializeCriticalSection(l)
#define ENTER(l) EnterCriticalSection(l)
#define LEAVE(l) LeaveCriticalSection(l)
#define REST(ms) Sleep(ms)
#define BEGIN(f) CreateThread(NULL, 0, f, NULL, 0, NULL)
#define THREAD DWORD WINAPI
#define END(f) WaitForSingleObject(f, INFINITE)
typedef HANDLE thread_type;
#else
#include <pthread.h>
#include <unistd.h>
#ifdef UNFAIR /* of macOS */
typedef unsigned lock_type;
extern void os_unfair_lock_lock(lock_type *), os_unfair_lock_unlock(lock_type *);
#define INIT(l) (void)0
#define ENTER(l) os_unfair_lock_lock(l)
#define LEAVE(l) os_unfair_lock_unlock(l)
#else
typedef pthread_mutex_t lock_type;
#define INIT(l) pthread_mutex_init(l, NULL)
#define ENTER(l) pthread_mutex_lock(l)
#define LEAVE(l) pthread_mutex_unlock(l)
#endif
#define REST(ms) usleep((ms) * 1000)
typedef pthread_t thread_type;
static pthread_t begin(void *(*f)(void *)) {
  pthread_t t;
  pthread_create(&t, NULL, f, NULL);
  return t;
}
#define BEGIN(f) begin(f)
#define THREAD void *
#define END(t) pthread_join(t, NULL)
#endif

#define KEEP __attribute__((noinline))

static lock_type released, kept;
static volatile int stage, sink, ms;

KEEP void holds(lock_type *l, int next, int time) {
  ENTER(l);
  stage = next;
  REST(time);
  LEAVE(l);
  sink++;
}

KEEP void waits(lock_type *l) {
  for (int i = 0; i < 3; i++) sink += i;
  ENTER(l);
  sink++;
  LEAVE(l);
}

static THREAD first(void *p) {
  holds(&released, 1, ms);
  return 0;
}

static THREAD second(void *p) {
  holds(&kept, 2, 1000000);
  return 0;
}

static THREAD third(void *p) {
  waits(&kept);
  return 0;
}

int main(int argc, char **argv) {
  ms = argc > 1 ? atoi(argv[1]) : 100;
  INIT(&released), INIT(&kept);
  thread_type t = BEGIN(first);
  while (stage < 1) REST(1);
  waits(&released);
  END(t);
  BEGIN(second);
  while (stage < 2) REST(1);
  BEGIN(third);
  REST(3 * ms);
  puts("ends");
  fflush(stdout);
  exit(0);
}
