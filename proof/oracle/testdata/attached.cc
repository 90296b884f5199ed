// A program that is attached to while it runs. Three threads make calls that take long now
// and then, which they measure and tell of: thread, then the moments (CLOCK_MONOTONIC, in
// ns) before and after the call and those that it saw itself. All throw without end, the
// first gets signals, and a handler in each of its calls takes long as well. A line on
// standard input is answered by the time; its end ends the program.
#include <atomic>
#include <cstdio>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define OWN __attribute__((noipa))

static std::atomic<bool> stop;
static std::atomic<long> caught, handled;

static unsigned long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ul + t.tv_nsec;
}

static void nap(long ms) {
  timespec t = {0, ms * 1000000};
  while (nanosleep(&t, &t)) {
  }
}

OWN void planted(int i, unsigned long *seen) {
  seen[0] = now();
  if (i % 2) nap(40);
  else while (now() - seen[0] < 40000000) {
  }
  seen[1] = now();
}
OWN void thrower(int i) {
  if (i % 3 == 0) throw std::runtime_error("thrown");
}
OWN void between(int i) {
  std::string kept(100, 'x');
  thrower(i);
  if (kept[i % 100] != 'x') abort();
}
OWN void catcher(int i) {
  try {
    between(i);
  } catch (const std::exception &) {
    caught++;
  }
}
static thread_local bool undisturbed; // in a call, so far
OWN void disturb() {
  unsigned long from = now();
  while (now() - from < 8000000) {
  }
}
OWN void on_signal(int) {
  catcher(3);
  if (undisturbed) disturb();
  undisturbed = false;
  handled++;
}

static void work() {
  unsigned long outer[2], seen[2];
  for (int i = 0; !stop; i++) {
    for (int k = 0; k < 2000; k++) catcher(k);
    outer[0] = now();
    undisturbed = true;
    planted(i, seen);
    undisturbed = false;
    outer[1] = now();
    printf("%ld %lu %lu %lu %lu\n", syscall(SYS_gettid), outer[0], outer[1], seen[0], seen[1]);
    nap(20);
  }
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  signal(SIGUSR1, on_signal);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) threads.emplace_back(work);
  pthread_t first = threads[0].native_handle();
  std::thread signals([first] {
    while (!stop) {
      pthread_kill(first, SIGUSR1);
      nap(3);
    }
  });
  char line[64];
  while (fgets(line, sizeof line, stdin)) printf("mark %lu\n", now());
  stop = true;
  signals.join();
  for (auto &t : threads) t.join();
  puts(caught > 0 && handled > 0 ? "ended in order" : "nothing was caught");
}
