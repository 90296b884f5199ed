// What can happen to a program: TestContract runs it as it is and with probes. The
// first argument says what happens once work was called 1000 times.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))

#ifdef LIBRARY
static int calls_of_library;
NOINLINE int in_library(int n) { return n + ++calls_of_library; }
__attribute__((destructor)) static void unloaded(void) {
  if (write(1, "unloaded\n", 9) < 9) calls_of_library++;
}
#else

static volatile int sink;
static int is_slow; // for modes that look for slow calls

NOINLINE void slow(void) {
  for (volatile int i = 0; i < 4; i++) usleep(10000); // a loop: it has probes
}

NOINLINE void work(int n) { sink += n; }
NOINLINE void second(void) { for (int i = 0; i < 5; i++) work(i); }
NOINLINE void child(int n) {
  for (int i = 0; i < n; i++) work(i);
  if (is_slow) slow();
}
NOINLINE void last(void) { work(1); }

NOINLINE void *thread(void *arg) {
  for (int i = 0; i < 7; i++) work(i);
  return arg;
}

#define say(s) write(1, s, sizeof s - 1)

// All that follows is one function, so that profiles are equal in all situations.
int main(int argc, char **argv, char **envp) {
  const char *how = argc > 1 ? argv[1] : "";
  int status;
  if (argc > 2) {
    second();
    return 9;
  }
  for (int i = 0; i < 1000; i++) work(i);
  if ((is_slow = getenv("SLOW") != 0)) slow();
#define HOW(s) if (!strcmp(how, s))
  HOW("return") say("return\n");
  HOW("exit") { atexit(last); exit(4); }
  HOW("_exit") _exit(5);
  HOW("quick_exit") quick_exit(6);
  HOW("abort") abort();
  HOW("segv") *(volatile int *)8 = 1;
  HOW("kill") kill(getpid(), SIGKILL);
  HOW("exec") execl(argv[0], argv[0], how, "again", (char *)0);
  HOW("leader") {
    pthread_t t;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    pthread_create(&t, &a, thread, 0);
    syscall(SYS_exit, 0);
  }
  HOW("fork") {
    for (int i = 0; i < 2; i++) {
      pid_t p = fork();
      if (p == 0) {
        child(10);
        if (i) _exit(3);
        exit(2);
      }
      waitpid(p, &status, 0);
      printf("child %d\n", WEXITSTATUS(status));
    }
  }
  HOW("vfork") {
    pid_t p = vfork();
    if (p == 0) {
      execl(argv[0], argv[0], how, "again", (char *)0);
      _exit(99);
    }
    waitpid(p, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
  }
  HOW("daemon") {
    int ends[2];
    char c;
    pipe(ends);
    if (fork() == 0) {
      setsid();
      if (fork()) _exit(0);
      chdir("/");
      for (int i = 0; i < 3; i++) close(i);
      child(10);
      _exit(0);
    }
    wait(&status);
    close(ends[1]);
    printf("%ld %d\n", (long)read(ends[0], &c, 1), status); // until the daemon ends
  }
  HOW("title") {
    char *end = argv[0];
    for (char **e = argv; *e; e++) end = *e + strlen(*e);
    for (char **e = envp; *e; e++) end = *e + strlen(*e);
    memset(argv[0], '/', (size_t)(end - argv[0]));
    envp[0] = 0;
    pid_t p = fork();
    if (p == 0) {
      child(10);
      exit(2);
    }
    waitpid(p, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
  }
  HOW("clearenv") {
    clearenv();
    pid_t p = fork();
    if (p == 0) {
      child(10);
      exit(2);
    }
    waitpid(p, &status, 0);
  }
  HOW("fsize") {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    return 3;
  }
  HOW("seccomp") {
    struct sock_filter f[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof f / sizeof *f, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) say("skip: no filters\n");
    return 3;
  }
  // No files from here on: kill says that who tries ends.
#define NO_FILES(act) \
    struct sock_filter f[] = { \
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 2, 0), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), \
      BPF_STMT(BPF_RET | BPF_K, act), \
    }; \
    struct sock_fprog prog = {sizeof f / sizeof *f, f}; \
    void *l = dlopen(GUEST_LIBRARY, RTLD_NOW); \
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); \
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) say("skip: no filters\n"); \
    if (l) printf("%d\n", dlclose(l)); \
    if (fork() == 0) { \
      child(10); \
      _exit(2); \
    } \
    wait(&status); \
    return WEXITSTATUS(status);
  HOW("nomap") { // by another process, with files that nobody maps for writing
    struct sock_filter f[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENODEV),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof f / sizeof *f, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) say("skip: no filters\n");
    execl(argv[0], argv[0], "clearenv", (char *)0);
  }
  HOW("seccomp errno") { NO_FILES(SECCOMP_RET_ERRNO | EPERM) }
  HOW("seccomp fork") { NO_FILES(SECCOMP_RET_KILL_PROCESS) }
  HOW("strict") {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    syscall(SYS_exit, 3);
  }
  HOW("nofile") {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    return 3;
  }
  HOW("closed") {
    for (int i = 0; i < 1024; i++) close(i);
    return 3;
  }
  HOW("lowest") {
    int fd = open("/dev/null", O_RDONLY), made = open("made", O_CREAT | O_RDWR, 0600);
    printf("%d %d\n", fd, made);
    struct sigaction a;
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, 0, &blocked);
    for (int s = 1; s < 65; s++)
      if (sigismember(&blocked, s) == 1) printf("blocked %d\n", s);
  }
  HOW("chroot") {
    mkdir("jail", 0700);
    if (chroot("jail") || chdir("/")) say("skip: no chroot\n");
    return 3;
  }
  HOW("chroot fork") {
    mkdir("jail", 0700);
    if (chroot("jail") || chdir("/")) say("skip: no chroot\n");
    if (fork() == 0) {
      child(10);
      _exit(2);
    }
    wait(&status);
    return WEXITSTATUS(status);
  }
  HOW("nofile fork") {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    if (fork() == 0) {
      child(10);
      exit(2);
    }
    wait(&status);
    return WEXITSTATUS(status);
  }
  HOW("raw fork") {
    if (syscall(SYS_fork) == 0) {
      child(10);
      _exit(2);
    }
    wait(&status);
    return WEXITSTATUS(status);
  }
  HOW("fork exec") {
    for (int i = 0; i < 2; i++) {
      if (fork() == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(2);
      }
      wait(&status);
    }
    return status;
  }
  HOW("disk") { // which gets full now
    char name[PATH_MAX], block[4096] = {0};
    snprintf(name, sizeof name, "%s/fill.txt", getenv("CAIRN_DIR"));
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    while (write(fd, block, sizeof block) > 0) {
    }
    if (fork() == 0) {
      child(10);
      _exit(2);
    }
    wait(&status);
    last();
    return WEXITSTATUS(status);
  }
  HOW("chdir") {
    mkdir("below", 0700);
    chdir("below");
  }
  HOW("truncate") {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "for f in %s/*; do truncate -s 0 \"$f\"; done 2>&-; true", getenv("CAIRN_DIR"));
    status = system(name);
    for (int i = 0; i < 10; i++) last();
    printf("%d\n", status);
  }
  HOW("bus") {
    int fd = open("empty", O_CREAT | O_RDWR, 0600);
    *(volatile char *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) = 1;
  }
  HOW("handler") {
    struct sigaction a = {.sa_handler = _exit};
    sigaction(SIGBUS, &a, 0);
    int fd = open("empty", O_CREAT | O_RDWR, 0600);
    *(volatile char *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) = 1;
  }
  HOW("stacks") {
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN);
    for (int i = 0; i < 10; i++) {
      pthread_t t;
      printf("%d", pthread_create(&t, &a, thread, 0));
      pthread_join(t, 0);
    }
  }
  HOW("dlopen") {
    void *l = dlopen(GUEST_LIBRARY, RTLD_NOW);
    int (*f)(int) = l ? (int (*)(int))dlsym(l, "in_library") : 0;
    printf("%d\n", f ? f(1) : -1);
  }
  HOW("dlclose") {
    for (int i = 0; i < 2; i++) {
      void *l = dlopen(GUEST_LIBRARY, RTLD_NOW);
      int (*f)(int) = l ? (int (*)(int))dlsym(l, "in_library") : 0;
      printf("%d\n", f ? f(1) : -1);
      fflush(stdout);
      printf("%d\n", dlclose(l));
      fflush(stdout);
    }
  }
  return 1;
}
#endif
