/* It waits until the thread that is the clock has no files open, and prints how many it has
 * got: 0, or all those of the program. What the clock keeps open for itself, which system call a
 * thread is in, is not counted: the program has no such file. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_kept(const char *fd) {
  char to[64] = "";
  static const char end[] = "/syscall";
  ssize_t n = readlink(fd, to, sizeof to - 1), size = sizeof end - 1;
  return n > size && !strcmp(to + n - size, end);
}

static int files_of(const char *tid) {
  char path[600], file[900];
  int n = 0;
  snprintf(path, sizeof path, "/proc/self/task/%s/fd", tid);
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    snprintf(file, sizeof file, "%s/%s", path, e->d_name);
    n += e->d_name[0] != '.' && !is_kept(file);
  }
  if (d) closedir(d);
  return d ? n : -1;
}

static int files_of_clock(void) {
  int n = -1;
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; d && n < 0 && (e = readdir(d));) {
    char path[600], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
    FILE *f = fopen(path, "r");
    if (!f) continue;
    if (fgets(name, sizeof name, f) && !strcmp(name, "cairn-clock\n")) n = files_of(e->d_name);
    fclose(f);
  }
  if (d) closedir(d);
  return n;
}

int main(void) {
  int n = -1;
  for (int i = 0; i < 2000 && n; i++, usleep(5000)) n = files_of_clock();
  printf("%d\n", n);
  return 0;
}
