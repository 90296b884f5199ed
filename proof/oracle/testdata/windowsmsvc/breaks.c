// Where a program comes by: breakpoints at places that a file has, one a line. Each that is marked + stays and counts, any other
// one is removed when it is reached. What was reached is written to a file at the end.

typedef unsigned long long u64;
typedef struct {
  unsigned at, count;
  unsigned char stays, byte;
} place;

enum { PLACES = 4096, RIP = 0xf8, FLAGS = 0x44, TRAP = 0x100 }; // offsets in a context of x86-64
struct record {
  unsigned code, flags;
  struct record *next;
  unsigned char *address;
};
struct pointers {
  struct record *record;
  unsigned char *context;
};

__declspec(dllimport) void *AddVectoredExceptionHandler(unsigned, long (*)(struct pointers *));
__declspec(dllimport) int VirtualProtect(void *, u64, unsigned, unsigned *);
void *fopen(const char *, const char *);
int fscanf(void *, const char *, ...);
int fprintf(void *, const char *, ...);
int fclose(void *);

extern unsigned char __ImageBase[];
static place places[PLACES];
static int count;
static place *stepped; // the one whose byte is back for an instruction

static long handle(struct pointers *p) {
  enum { BREAKPOINT = 0x80000003u, SINGLE_STEP = 0x80000004u, SEARCH = 0, GO_ON = -1 };
  if (p->record->code == SINGLE_STEP && stepped) {
    __ImageBase[stepped->at] = 0xcc;
    stepped = 0;
    return GO_ON;
  }
  for (int i = 0; p->record->code == BREAKPOINT && i < count; i++) {
    if (p->record->address != __ImageBase + places[i].at) continue;
    places[i].count++;
    __ImageBase[places[i].at] = places[i].byte;
    *(u64 *)(p->context + RIP) = (u64)p->record->address;
    if (places[i].stays) {
      stepped = &places[i];
      *(unsigned *)(p->context + FLAGS) |= TRAP;
    }
    return GO_ON;
  }
  return SEARCH;
}

void set_breaks(void) {
  void *file = fopen("breaks", "r");
  unsigned at, before;
  char mark;
  while (file && count < PLACES && fscanf(file, "%x%c", &at, &mark) == 2) places[count++] = (place){at, 0, mark == '+', __ImageBase[at]};
  if (file) fclose(file);
  if (count) AddVectoredExceptionHandler(1, handle);
  for (int i = 0; i < count; i++) {
    VirtualProtect(__ImageBase + places[i].at, 1, 0x40, &before);
    __ImageBase[places[i].at] = 0xcc;
  }
}

void write_breaks(void) {
  void *file = count ? fopen("reached", "w") : 0;
  for (int i = 0; file && i < count; i++) fprintf(file, "%x %u\n", places[i].at, places[i].count);
  if (file) fclose(file);
}
