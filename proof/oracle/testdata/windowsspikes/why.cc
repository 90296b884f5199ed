// Calls that take too long for different reasons, one of which has not ended when the program does, for Windows and Linux.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#define KEEP __attribute__((noinline))

volatile int sink;
static std::mutex &mutex = *new std::mutex; // used until the process is gone
static std::condition_variable &condition = *new std::condition_variable;
static std::atomic<int> stage;
using clock_type = std::chrono::steady_clock;

static void pause_for(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

KEEP int sleeps(int ms) {
  for (int i = 0; i < 3; i++) sink += i;
  pause_for(ms);
  return sink;
}

KEEP int runs(int ms) {
  auto end = clock_type::now() + std::chrono::milliseconds(ms);
  while (clock_type::now() < end) sink += 1;
  return sink;
}

KEEP int locked() {
  for (int i = 0; i < 3; i++) sink += i;
  std::lock_guard<std::mutex> hold(mutex);
  return sink;
}

KEEP int hangs() {
  for (int i = 0; i < 3; i++) sink += i;
  std::unique_lock<std::mutex> hold(mutex);
  stage = 2;
  while (stage == 2) condition.wait(hold);
  return sink;
}

KEEP int around() {
  int r = 0;
  for (int i = 0; i < 2; i++) r += hangs();
  return r;
}

int main(int argc, char **argv) {
  int ms = argc > 1 ? atoi(argv[1]) : 100;
  sleeps(ms);
  runs(ms);
  std::thread holder([ms] {
    mutex.lock();
    stage = 1;
    pause_for(ms);
    mutex.unlock();
  });
  while (stage < 1) pause_for(1);
  locked();
  holder.join();
  std::thread(around).detach();
  while (stage < 2) pause_for(1);
  pause_for(2 * ms);
  puts("ends");
  return 0;
}
