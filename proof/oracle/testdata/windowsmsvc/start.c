// The start of programs and DLLs for MSVC's system, whose library has a licence that keeps it from here: constructors, thread-local
// storage, the handlers of atexit, what clang calls in large frames, and the operators of C++.

typedef void (*function)(void);
typedef unsigned long long size;

__attribute__((section(".CRT$XCA"))) const function first_constructor = 0;
__attribute__((section(".CRT$XCZ"))) const function last_constructor = 0;
__attribute__((section(".CRT$XLA"))) const function first_callback = 0;
__attribute__((section(".CRT$XLZ"))) const function last_callback = 0;
__attribute__((section(".tls"))) char _tls_start = 0;
__attribute__((section(".tls$ZZZ"))) char _tls_end = 0;
unsigned _tls_index;
int _fltused = 1;
const struct {
  void *start, *end, *index;
  const void *callbacks;
  unsigned zeros, flags;
} _tls_used = {&_tls_start, &_tls_end, &_tls_index, &first_callback + 1, 0, 0};

static function handlers[64];
static int registered;

int atexit(function handler) {
  if (registered == sizeof handlers / sizeof *handlers) return -1;
  handlers[registered++] = handler;
  return 0;
}

static void construct(void) {
  for (const function *f = &first_constructor; f < &last_constructor; f++)
    if (*f) (*f)();
}

static void destroy(void) {
  while (registered) handlers[--registered]();
}

__declspec(dllimport) void ExitProcess(unsigned);
__declspec(dllimport) void *GetProcessHeap(void);
__declspec(dllimport) void *HeapAlloc(void *, unsigned, size);
__declspec(dllimport) int HeapFree(void *, unsigned, void *);
int fflush(void *);

#ifdef DLL
int _DllMainCRTStartup(void *module, unsigned reason, void *always) {
  if (reason == 1) construct();
  if (reason == 0) destroy();
  return 1;
}
#else
int main(int, char **);
void set_breaks(void), write_breaks(void);
int __getmainargs(int *, char ***, char ***, int, int *);

void mainCRTStartup(void) {
  int argc, mode = 0;
  char **argv, **env;
  __getmainargs(&argc, &argv, &env, 0, &mode);
  set_breaks();
  construct();
  int code = main(argc, argv);
  destroy();
  write_breaks();
  fflush(0);
  ExitProcess(code);
}
#endif

// The type of the objects that describe types.
const void *const vtable[2] __asm__("??_7type_info@@6B@") = {0};

void *operator_new(size n) __asm__("??2@YAPEAX_K@Z");
void *operator_new(size n) { return HeapAlloc(GetProcessHeap(), 0, n); }
void operator_delete(void *p, size n) __asm__("??3@YAXPEAX_K@Z");
void operator_delete(void *p, size n) { HeapFree(GetProcessHeap(), 0, p); }

// __chkstk touches each page of a frame of rax bytes.
__asm__(".globl __chkstk\n.def __chkstk; .scl 2; .type 32; .endef\n__chkstk:\npushq %rcx\npushq %rax\nleaq 24(%rsp), %rcx\n"
        "1: cmpq $4096, %rax\njb 2f\nsubq $4096, %rcx\norl $0, (%rcx)\nsubq $4096, %rax\njmp 1b\n"
        "2: subq %rax, %rcx\norl $0, (%rcx)\npopq %rax\npopq %rcx\nret\n");
