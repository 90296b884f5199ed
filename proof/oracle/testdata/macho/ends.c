/* Calls second eight times, and ends as its first argument says: in a child, in threads, or when its input ends. */
extern int fork(void), waitpid(int, int *, int), strcmp(const char *, const char *), execv(const char *, char *const *);
extern long read(int, void *, unsigned long), write(int, const void *, unsigned long);
extern int pthread_create(void **, const void *, void *(*)(void *), void *), pthread_join(void *, void **);
extern void exit(int), _exit(int);

#define OWN __attribute__((noinline))
static volatile int sum;
OWN void second(int n) { sum += n; }
OWN void in_child(int n) { second(n), sum--; }
OWN void *in_thread(void *n) { second((int)(long)n); return 0; }

/* in_threads makes more threads than there are trees, a few at a time. */
OWN void in_threads(void) {
  void *t[4];
  for (int i = 0; i < 75; i++) {
    for (int k = 0; k < 4; k++) pthread_create(&t[k], 0, in_thread, (void *)1);
    for (int k = 0; k < 4; k++) pthread_join(t[k], 0);
  }
}

int main(int argc, char **argv) {
  char c;
  int status, forks = !strcmp(argv[1], "child") || !strcmp(argv[1], "exec");
  if (forks && !fork()) {
    in_child(1);
    if (!strcmp(argv[1], "child")) exit(0);
    execv("/bin/true", (char *[]){"true", 0});
    _exit(1);
  }
  if (forks) waitpid(-1, &status, 0);
  for (int i = 0; i < 8; i++) second(i);
  if (!strcmp(argv[1], "threads")) in_threads();
  if (!strcmp(argv[1], "wait")) {
    write(1, "waits\n", 6);
    read(0, &c, 1);
  }
  if (!strcmp(argv[1], "leave")) _exit(0);
  if (!strcmp(argv[1], "replace")) execv("/bin/true", (char *[]){"true", 0});
  return 0;
}
