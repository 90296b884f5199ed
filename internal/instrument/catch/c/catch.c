/* The library that cairn build loads into every program of a build (LD_PRELOAD). It replaces
 * compilers and linkers by cairn, which adds its arguments and executes them. However a compiler is
 * started, it is caught at one of two places:
 *
 *   - where a program starts another (execve, posix_spawn and their kin), by the name of
 *     the file. These hooks also restore variables of ours that a build has cleared.
 *   - at the start of the compiler itself, before its own code runs. That finds those
 *     started by programs that are linked statically or make system calls themselves.
 *
 * Package catch lists the variables. Hooks run between vfork and exec: they allocate only stack and
 * change no other memory. */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

#define EXPORT __attribute__((visibility("default")))

/* Variables that programs of a build get back if their environment lacks them. */
static const char *const kept[] = {"CAIRN_BUILD=", "CAIRN_BUILD_LOG=", "CAIRN_CACHE=", "CAIRN_DIR="};
enum { KEPT = sizeof kept / sizeof *kept };
static const char caughtVar[] = "CAIRN_CAUGHT=", launchVar[] = "CAIRN_LAUNCH=", toolVar[] = "CAIRN_TOOL=", preloadVar[] = "LD_PRELOAD=";

static int active;              /* this is a build and no compiler is above this process */
static const char *saved[KEPT]; /* NAME=value, in arena */
static const char *library;     /* this library, as the loader knows it */
static char cairn[PATH_MAX];    /* runs in place of compilers */
static char arena[4 * PATH_MAX];

static int (*realExecve)(const char *, char *const[], char *const[]);
static int (*realExecvpe)(const char *, char *const[], char *const[]);
static int (*realSpawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
static int (*realSpawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);

static void resolve(void) {
  *(void **)&realExecvpe = dlsym(RTLD_NEXT, "execvpe");
  *(void **)&realSpawn = dlsym(RTLD_NEXT, "posix_spawn");
  *(void **)&realSpawnp = dlsym(RTLD_NEXT, "posix_spawnp");
  *(void **)&realExecve = dlsym(RTLD_NEXT, "execve");
}

/* The tools to catch, without prefixes of targets and suffixes of versions. */
static const char *const compilers[] = {"gcc", "g++", "cc", "c++", "c89", "c99", "clang", "clang++", "clang-cl", "gfortran", "f77", "f95", "gdc",
                                        "ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "mold", "lld", "ld64", "ld64.lld", "lld-link", 0};
static const char *const launchers[] = {"ccache", "distcc", "icecc", "sccache", 0};
/* Those to catch only where a program of the build starts them: cairn executes all but the assembler
 * unchanged, and lists what they compile. */
static const char *const others[] = {"as", "nasm", "yasm", "rustc", "cargo", "ldc2", "ldmd2", "dmd", "fpc", "swiftc", "tcc", 0};

static int starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

static const char *base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int listed(const char *const *list, const char *name, size_t n) {
  for (; *list; list++)
    if (strlen(*list) == n && memcmp(*list, name, n) == 0) return 1;
  return 0;
}

static int isLauncher(const char *name) { return listed(launchers, name, strlen(name)); }

static const char *const machines[] = {"x86_64-", "aarch64-", "arm-", "armv7", 0};
static const char *const systems[] = {"-gnu", "-musl", "-gnueabi", "-gnueabihf", "-musleabi", "-musleabihf", "-android", "-androideabi",
                                      "-mingw32", 0};

/* behindTarget returns the part of a name after a target prefix, name if it has none, and 0 for
 * unsupported targets. */
static const char *behindTarget(const char *name) {
  const char *const *m = machines;
  while (*m && !starts(name, *m)) m++;
  if (!*m) return name;
  const char *p = name + strlen(*m) - ((*m)[strlen(*m) - 1] == '-');
  while (*p >= 'a' && *p <= 'z') p++; /* armv7a */
  for (; (p = strchr(p, '-')); p++) {
    for (const char *const *s = systems; *s; s++) {
      if (!starts(p, *s)) continue;
      const char *end = p + strlen(*s);
      if (starts(*s, "-android"))
        while (*end >= '0' && *end <= '9') end++;
      if (*end == '-') return end + 1;
    }
  }
  return 0;
}

/* isOneOf reports whether a name is one of a list, with the prefix of a target or without, and the
 * suffix of a version or of a model of threads. */
static int isOneOf(const char *const *list, const char *name) {
  if (starts(name, "musl-")) {
    name += 5;
  } else if (!(name = behindTarget(name))) {
    return 0;
  }
  size_t n = strlen(name), end = n;
  while (end > 0 && ((name[end - 1] >= '0' && name[end - 1] <= '9') || name[end - 1] == '.')) end--;
  if (end < n && end > 1 && name[end - 1] == '-' && name[end] != '.') n = end - 1;
  if (n > 6 && (starts(name + n - 6, "-posix") || starts(name + n - 6, "-win32"))) n -= 6; /* Debian's for Windows */
  return listed(list, name, n);
}

/* isTool reports whether to catch a program of that name. */
static int isTool(const char *name) { return isLauncher(name) || isOneOf(compilers, name); }

/* isStarted reports whether to catch it where it is started. */
static int isStarted(const char *name) { return isTool(name) || isOneOf(others, name); }

static const char *find(char *const env[], const char *var) {
  size_t n = strlen(var);
  for (; env && *env; env++)
    if (strncmp(*env, var, n) == 0) return *env;
  return 0;
}

/* loaded reports whether a value of LD_PRELOAD names this library. */
static int loaded(const char *value) {
  size_t n = strlen(library);
  for (const char *p = value; (p = strstr(p, library)); p += n)
    if ((p == value || strchr(": ", p[-1])) && (p[n] == 0 || strchr(": ", p[n]))) return 1;
  return 0;
}

/* room returns how many bytes amend may need. */
static size_t room(char *const env[], const char *tool) {
  size_t n = 0;
  while (env && env[n]) n++;
  const char *preload = find(env, preloadVar);
  return (n + KEPT + 3) * sizeof(char *) + sizeof preloadVar + strlen(library) + (preload ? strlen(preload) : 0) + 2 +
         sizeof toolVar + (tool ? strlen(tool) : 0);
}

/* amend copies env to memory, with the variables that a build needs, and the path of the tool that
 * cairn is started for. */
static char **amend(char *const env[], const char *tool, void *memory) {
  char **out = memory;
  size_t n = 0;
  while (env && env[n]) n++;
  char *text = (char *)(out + n + KEPT + 3);
  const char *preload = 0;
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    if (starts(env[i], toolVar)) continue;
    if (starts(env[i], preloadVar) && !loaded(env[i] + sizeof preloadVar - 1)) {
      preload = env[i] + sizeof preloadVar - 1;
      continue;
    }
    out[k++] = env[i];
  }
  out[k] = 0;
  if (!find(out, preloadVar)) {
    out[k++] = text;
    text = stpcpy(stpcpy(text, preloadVar), library);
    if (preload && *preload) text = stpcpy(stpcpy(text, ":"), preload);
    text++;
  }
  for (int i = 0; i < KEPT; i++) {
    out[k] = 0;
    if (saved[i] && !find(out, kept[i])) out[k++] = (char *)saved[i];
  }
  if (tool) {
    out[k++] = text;
    stpcpy(stpcpy(text, toolVar), tool);
  }
  out[k] = 0;
  return out;
}

static int runs(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* toolAt returns path if it is an executable tool, else 0. */
static const char *toolAt(const char *path) { return isStarted(base(path)) && runs(path) ? path : 0; }

/* onPath finds a tool as execvp does, in a buffer of PATH_MAX bytes; otherwise it returns 0. */
static const char *onPath(const char *file, char *buf) {
  if (strchr(file, '/')) return toolAt(file);
  if (!isStarted(file)) return 0;
  const char *path = find(environ, "PATH=");
  path = path ? path + 5 : "/bin:/usr/bin";
  for (;;) {
    size_t n = strcspn(path, ":");
    if (n + strlen(file) + 2 <= PATH_MAX) {
      memcpy(buf, path, n);
      strcpy(n ? stpcpy(buf + n, "/") : buf, file);
      if (runs(buf)) return buf;
    }
    if (!path[n]) return 0;
    path += n + 1;
  }
}

/* aside reports whether to start a program as if this library were absent. The hooks may be called
 * before our constructor. */
static int aside(char *const env[]) {
  if (!realExecve) resolve();
  return !active || find(env, caughtVar);
}

static int run(const char *path, char *const argv[], char *const env[]) {
  if (aside(env)) return realExecve(path, argv, env);
  const char *tool = toolAt(path);
  char **own = amend(env, tool, alloca(room(env, tool)));
  if (tool) {
    realExecve(cairn, argv, own);
    own = amend(env, 0, own); /* cairn does not exist there */
  }
  return realExecve(path, argv, own);
}

static int runOnPath(const char *file, char *const argv[], char *const env[]) {
  if (aside(env)) return realExecvpe(file, argv, env);
  char buf[PATH_MAX];
  const char *tool = onPath(file, buf);
  if (tool) return run(tool, argv, env);
  return realExecvpe(file, argv, amend(env, 0, alloca(room(env, 0))));
}

EXPORT int execve(const char *path, char *const argv[], char *const env[]) { return run(path, argv, env); }
EXPORT int execv(const char *path, char *const argv[]) { return run(path, argv, environ); }
EXPORT int execvp(const char *file, char *const argv[]) { return runOnPath(file, argv, environ); }
EXPORT int execvpe(const char *file, char *const argv[], char *const env[]) { return runOnPath(file, argv, env); }

/* ARGV makes an array of variable arguments; for execle the environment follows. */
#define ARGV(argv, first, list)                          \
  va_list list;                                          \
  size_t count##list = 1;                                \
  va_start(list, first);                                 \
  while (va_arg(list, char *)) count##list++;            \
  va_end(list);                                          \
  char **argv = alloca((count##list + 1) * sizeof *argv); \
  argv[0] = (char *)first;                               \
  va_start(list, first);                                 \
  for (size_t i = 1; i <= count##list; i++) argv[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *arg, ...) {
  ARGV(argv, arg, list);
  va_end(list);
  return run(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...) {
  ARGV(argv, arg, list);
  va_end(list);
  return runOnPath(file, argv, environ);
}

EXPORT int execle(const char *path, const char *arg, ...) {
  ARGV(argv, arg, list);
  char *const *env = va_arg(list, char *const *);
  va_end(list);
  return run(path, argv, env);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                       char *const argv[], char *const env[]) {
  if (aside(env)) return realSpawn(pid, path, actions, attr, argv, env);
  const char *tool = toolAt(path);
  return realSpawn(pid, tool ? cairn : path, actions, attr, argv, amend(env, tool, alloca(room(env, tool))));
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                        char *const argv[], char *const env[]) {
  if (aside(env)) return realSpawnp(pid, file, actions, attr, argv, env);
  char buf[PATH_MAX];
  const char *tool = onPath(file, buf);
  char **own = amend(env, tool, alloca(room(env, tool)));
  if (tool) return realSpawn(pid, cairn, actions, attr, argv, own);
  return realSpawnp(pid, file, actions, attr, argv, own);
}

/* keep saves our variables of the environment. */
static void keep(void) {
  char *at = arena;
  for (int i = 0; i < KEPT; i++) {
    const char *v = find(environ, kept[i]);
    if (!v || strlen(v) >= (size_t)(arena + sizeof arena - at)) continue;
    saved[i] = at;
    at = stpcpy(at, v) + 1;
  }
}

/* tell writes to the log of the build that a compiler, the parent of this assembler, was not
 * caught. */
static void tell(void) {
  char link[64], path[PATH_MAX], line[PATH_MAX + 64];
  snprintf(link, sizeof link, "/proc/%d/exe", (int)getppid());
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return;
  path[n] = 0;
  const char *name = base(path);
  if (!strstr(name, "cc") && !strstr(name, "++") && !strstr(name, "clang") && !strstr(name, "gdc") && !strstr(name, "gnat") &&
      !strstr(name, "fortran") && !strstr(name, "gm2"))
    return;
  for (const char *p = path; *p; p++)
    if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ') return;
  int len = snprintf(line, sizeof line, "{\"Uncaught\":\"%s\"}\n", path);
  if (!saved[1]) return;
  const char *log = saved[1] + strlen(kept[1]);
  size_t size = strcspn(log, "\n"); /* the first, if builds are nested */
  if (size >= sizeof path) return;
  memcpy(path, log, size);
  path[size] = 0;
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, line, len) < 0) errno = 0;
  close(fd);
}

static int isAssembler(const char *name) {
  size_t n = strlen(name);
  return strcmp(name, "as") == 0 || (n > 3 && strcmp(name + n - 3, "-as") == 0);
}

#ifndef CATCH_TEST
__attribute__((constructor)) static void start(int argc, char **argv, char **env) {
  resolve();
  const char *dir = find(environ, kept[0]);
  Dl_info info;
  if (!dir || find(environ, caughtVar) || !dladdr((void *)&isTool, &info)) return;
  library = info.dli_fname;
  if (snprintf(cairn, sizeof cairn, "%s/cairn", dir + strlen(kept[0])) >= (int)sizeof cairn) return;
  keep();
  active = 1;

  char exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n <= 0) return;
  exe[n] = 0;
  const char *name = base(exe);
  if (isAssembler(name)) {
    tell();
    return;
  }
  /* A launcher that cairn has started must run its compiler, which is caught then. */
  if (!isTool(name) || (isLauncher(name) && find(environ, launchVar))) return;
#ifdef __GLIBC__ /* other C libraries pass no arguments to constructors */
  /* lld selects the linker by its name, and has names that are not caught, such as wasm-ld. */
  if (strcmp(name, "lld") == 0 && argc > 0 && !isTool(base(argv[0]))) return;
  realExecve(cairn, argv, amend(env, exe, alloca(room(env, exe))));
#else
  (void)argc, (void)argv, (void)env;
#endif
}
#endif
