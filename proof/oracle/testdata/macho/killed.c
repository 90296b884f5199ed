/* Ends as its first argument says. */
extern int fork(void), waitpid(int, int *, int), raise(int), strcmp(const char *, const char *);
extern void _exit(int);
enum { SIGKILL = 9 };

#define OWN __attribute__((noinline))
static volatile int sum;
OWN void first(void) { sum++; }
OWN void second(int n) { sum += n; }
OWN void in_child(void) { sum--; }
OWN void never(void) { sum = 0; }

int main(int argc, char **argv) {
  first();
  for (int i = 0; i < 7; i++) second(i);
  if (argc > 2) never();
  if (!strcmp(argv[1], "fork")) {
    int status, child = fork();
    if (!child) {
      in_child();
      second(1);
      raise(SIGKILL);
    }
    waitpid(child, &status, 0);
  }
  if (!strcmp(argv[1], "kill")) raise(SIGKILL);
  if (!strcmp(argv[1], "_exit")) _exit(0);
  return 0;
}
