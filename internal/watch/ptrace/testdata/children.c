/* Children by fork, vfork and exec: each runs code that the parent has not. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static int in_child(int x) { sink = x; return x + 1; }
NOINLINE static void in_vfork(void) { sink = 5; }
NOINLINE static void after(void) { sink = 6; }
extern char **environ;

static int code(pid_t pid) {
	int status;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "replaced")) {
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)0);
		return 1;
	}
	pid_t pid = fork();
	if (pid == 0)
		_exit(in_child(2));
	int a = code(pid);
	pid = vfork();
	if (pid == 0) {
		in_vfork();
		execl("/bin/sh", "sh", "-c", "exit 4", (char *)0);
		_exit(1);
	}
	int b = code(pid);
	char *args[] = {"sh", "-c", "exit 5", 0};
	if (posix_spawn(&pid, "/bin/sh", 0, 0, args, environ))
		return 1;
	int c = code(pid);
	after();
	printf("%d %d %d\n", a, b, c);
	return 0;
}
