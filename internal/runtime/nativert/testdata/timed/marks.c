/* Marked calls, as C and as C++: each scenario is one function, of the name that
 * is its argument. They sleep, so that times are lower bounds. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cairn.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef _WIN32
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#ifdef _WIN32
__declspec(dllimport) void Sleep(unsigned long);
#endif

CAIRN_CHANNEL(ai);

#define NOINLINE __attribute__((noinline))

static int evaluated;
static int count(int n) {
  evaluated++;
  return n;
}

static int factor = 1; /* of all times */

static NOINLINE void nap(int ms) {
  ms *= factor;
#ifdef _WIN32
  Sleep(ms);
#else
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&t, 0);
#endif
}

NOINLINE void leaf(int ms) {
  CAIRN_FUNCTION();
  CAIRN_DESCF("%s %5.1f%% of %d, %lu %c %p", "leaf", 12.5, ms, 7ul, 'x', (void *)0);
  nap(ms);
}

NOINLINE void middle(int ms) {
  CAIRN_FUNCTION();
  leaf(ms);
  nap(1);
}

NOINLINE void outer(int ms) {
  CAIRN_FUNCTION();
  middle(ms);
  nap(1);
}

NOINLINE void section(void) {
  CAIRN_FUNCTION();
  CAIRN_SECTION("load") { nap(30); }
  CAIRN_SECTION("save") {
    if (evaluated == 0) break;
    nap(30);
  }
}

NOINLINE void own(void) {
  CAIRN_FUNCTION();
  CAIRN_THRESHOLD(10000);
  middle(30);
}

NOINLINE void children(void) {
  CAIRN_FUNCTION();
  CAIRN_CHILDREN_THRESHOLD(10000);
  middle(30);
}

NOINLINE void load(void) {
  CAIRN_FUNCTION();
  CAIRN_PARENTS_THRESHOLD(10000);
  nap(30);
}

NOINLINE void parents(void) {
  CAIRN_FUNCTION();
  CAIRN_THRESHOLD(20 * factor);
  load();
}

NOINLINE void ignore(void) {
  CAIRN_FUNCTION();
  CAIRN_IGNORE();
  middle(30);
}

NOINLINE void ignore_children(void) {
  CAIRN_FUNCTION();
  CAIRN_IGNORE_CHILDREN_IF(1);
  middle(30);
}

NOINLINE void pause_(void) {
  CAIRN_FUNCTION();
  cairn_pause();
  cairn_pause();
  nap(30);
  cairn_resume();
  nap(10);
  cairn_resume();
}

NOINLINE void inactive(void) {
  CAIRN_FUNCTION();
  cairn_thread_active(0);
  middle(30);
}

NOINLINE void channel(void) {
  CAIRN_SECTION_IF(cairn_channel(ai), "on") { nap(30); }
  cairn_channel_set(ai, 0);
  CAIRN_SECTION_IF(cairn_channel(ai), "off") { nap(30); }
}

NOINLINE void frames(void) {
  CAIRN_FRAME();
  CAIRN_FRAME();
  cairn_thread_name("renderer");
  leaf(30);
}

NOINLINE void snapshot(void) {
  CAIRN_FUNCTION();
  CAIRN_SECTION("shot") {
    nap(30);
    cairn_snapshot();
  }
}

/* What the program is told it may print, even at the end. */
static void hear(const struct cairn_spike *s) {
  printf("told %llu %d %s %d %s; ", (unsigned long long)s->number, s->least >= 15000000 && s->least <= s->most, s->thread, s->depth > 1, s->text);
}
NOINLINE void hears(void) {
  cairn_on_spike(hear);
  cairn_thread_name("speaker");
  leaf(30);
  nap(100);
  leaf(30);
}

NOINLINE void below(void) {
  CAIRN_FUNCTION();
  CAIRN_SECTION("inner") {
    CAIRN_THRESHOLD(10000);
    nap(30);
  }
}

NOINLINE void overtime(int ms) {
  CAIRN_FUNCTION();
  CAIRN_DESCF("n %d", count(ms));
  nap(ms);
  CAIRN_OVERTIMEF("waited %d", count(ms));
}

NOINLINE void messages(void) {
  for (int i = 0; i < 20; i++) overtime(0);
  overtime(30);
}

#ifndef _WIN32
static unsigned long long clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* Calls of known length, which measure themselves: a line for each, as those of
 * planted.c. */
NOINLINE void planted(void) {
  cairn_threshold(2);
  for (int i = 0; i < 120; i++) {
    static const int us[] = {1000, 1900, 2600, 4000, 6000};
    unsigned long long outer_start = clock_now(), start = 0, end = 0;
    CAIRN_SECTION("planted") {
      start = end = clock_now();
      while (end - start < us[i % 5] * 1000ull) end = clock_now();
    }
    printf("%ld %llu %llu %llu %llu\n", (long)syscall(SYS_gettid), outer_start, clock_now(), start, end);
  }
  fflush(stdout);
  evaluated = -1;
}
#endif

static jmp_buf back;
NOINLINE void leaves(int n) {
  CAIRN_FUNCTION();
  if (n) leaves(n - 1);
  if (evaluated == 0) longjmp(back, 1);
}
NOINLINE void jumps(void) {
  CAIRN_FUNCTION();
  static int i; /* setjmp keeps it */
  for (i = 0; i < 200; i++)
    if (!setjmp(back)) leaves(5);
  leaf(30);
}

#ifdef __cplusplus
}

#include <string>

/* What only C++ has: a scope that an exception leaves, and one that is described
 * by a function. */
NOINLINE static void throws(int ms) {
  auto said = [&] { return "slept " + std::to_string(ms); };
  cairn::scope s;
  s.desc(said);
  nap(ms);
  throw ms;
}
static void exception() {
  try {
    throws(30);
  } catch (int) {
  }
}
#else
#define exception section
#endif

static const struct {
  const char *name;
  void (*f)(void);
} scenario[] = {
    {"section", section}, {"own", own}, {"children", children}, {"parents", parents}, {"ignore", ignore},
    {"ignore_children", ignore_children}, {"pause", pause_}, {"inactive", inactive}, {"channel", channel},
    {"snapshot", snapshot}, {"hears", hears}, {"below", below},
    {"frames", frames}, {"messages", messages}, {"jumps", jumps}, {"exception", exception},
#ifndef _WIN32
    {"planted", planted},
#endif
};

int main(int argc, char **argv) {
  if (argc > 2) factor = atoi(argv[2]);
  cairn_threshold(15 * factor);
  if (argc > 1 && !strcmp(argv[1], "nested")) outer(30);
  for (unsigned i = 0; argc > 1 && i < sizeof scenario / sizeof *scenario; i++)
    if (!strcmp(argv[1], scenario[i].name)) scenario[i].f();
  if (evaluated >= 0) printf("%d\n", evaluated);
  return 0;
}
