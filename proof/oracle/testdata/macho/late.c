/* Has calls that take long, as long as its second argument says in ms, and ends as its first one says. With PARTS, some are latelib.c's. */
extern int fork(void), waitpid(int, int *, int), raise(int), strcmp(const char *, const char *), atoi(const char *), nanosleep(const long *, long *);
extern int pthread_setname_np(const char *);
extern void exit(int), _exit(int);
enum { SIGKILL = 9 };

#define OWN __attribute__((noinline))
static volatile int sum;
OWN void quick(int n) { sum += n; }
#ifdef PARTS /* a dylib has them */
extern void middle(int);
#else
OWN void stall(int ms) {
  long t[2] = {ms / 1000, ms % 1000 * 1000000l};
  nanosleep(t, 0);
  sum++;
}
OWN void middle(int ms) {
  stall(ms);
  sum++;
}
#endif
OWN void outer(int ms) {
  middle(ms);
  sum++;
}

int main(int argc, char **argv) {
  int status, ms = atoi(argv[2]), child = !strcmp(argv[1], "child");
  quick(1);
  pthread_setname_np("late");
  if (child) outer(ms);
  if (child && !fork()) {
    quick(2);
    outer(ms);
    exit(0);
  }
  if (child) waitpid(-1, &status, 0);
  outer(ms);
  if (!strcmp(argv[1], "kill")) raise(SIGKILL);
  if (!strcmp(argv[1], "leave")) _exit(0);
  return 0;
}
