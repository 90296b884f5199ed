/* Says which signals it gets; the second kind of SIGINT ends it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(int n) {
	char b[32];
	write(1, b, snprintf(b, sizeof b, "signal %d\n", n));
	if (n == SIGINT)
		kill(getpid(), SIGTERM);
}

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "pause";
	if (!strcmp(how, "spin"))
		for (;;) {
		}
	if (!strcmp(how, "stop"))
		raise(SIGSTOP);
	if (!strcmp(how, "echo")) {
		char b[32];
		signal(SIGUSR1, say);
		signal(SIGCONT, say);
		signal(SIGINT, say);
		write(1, b, snprintf(b, sizeof b, "ready %d\n", (int)getpid()));
	}
	for (;;)
		pause();
}
