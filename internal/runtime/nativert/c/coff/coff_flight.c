/* The flight recorder of mode spike, as c/timed/flight.h has it. A thread has its words in three slots of thread-local storage beside
 * each other, in its block. All are 0 until it calls something: the clock is not, so that the first entry comes here. Chunks are views of
 * the log's file, which keeps what was recorded however the process ends. */

#include "flight.h"

#define CHUNK ((u64)LOG_CHUNK_SIZE)
#define PAYLOAD ((u64)LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE)
enum { FLIGHT_NONE = 0, FLIGHT_WORDS = 3 };

/* Position, clock and left are as in c/timed/timed.h. base is that of the stack on which the last event was. */
struct flight_at {
  u64 position;
  u32 clock, left;
  u64 base;
};

#define own_flight() ((struct flight_at *)own_word())
#define is_deserted(p) 0
#define recording(p) ((p)->flight.chunks && !(p)->failed && !(p)->off && load(&(p)->first))
#define lock_windows(p) take(p)
#define unlock_windows(p) give(p)
#define block_most() 0
#define unblock(mask) ((void)(mask))
#define thread_number() GetCurrentThreadId()
#define map_chunk(p) map_next(p)

#include "flight_memory.h"

static void append(u32 function, u32 sp);

/* note_stacks records the ends of the stacks that this thread was on, from one on: the first is its own. */
static void note_stacks(const struct thread *t, struct ring *r, u32 from) {
  for (r->stacks = from; r->stacks < t->stacks; r->stacks++) append(LOG_FLIGHT_STACK, (u32)(u64)t->stack_base[r->stacks]);
}

static void record_stacks(struct process *p, struct ring *r) { note_stacks(thread_of(p), r, 1); }

#include "flight_ring.c"

/* turn notes the stack that the thread is on. */
void __cairn_flight_turn(u64 sp) {
  struct thread *t = thread_of(state);
  own_flight()->base = stack_base();
  if (!t || !t->ring) return;
  stack_of(t);
  note_stacks(t, t->ring, t->ring->stacks);
}

/* switched is called when a stack stops: its last exit is recorded, as what comes next is on another one. And when it goes on: all that its
 * function called has ended before. */
static void switched(u64 frame, int back) {
  struct flight_at *at = own_flight();
  if (at->position == FLIGHT_NONE) return;
  if (!back && !(at->left & 1)) call_left(state, at->left);
  at->left = ((u32)frame - 2047) | 1;
  if (back) __cairn_flight_turn(frame);
}

static void of_flight_slow(struct process *p, const struct registers *r) { __cairn_flight_more((u64)(r + 1)); }
static void of_flight_turned(struct process *p, const struct registers *r) { __cairn_flight_turn((u64)(r + 1)); }
ROUTINE(flight_slow)
ROUTINE(flight_turned)

/* __cairn_flight_left is that of c/timed/flight_x86_64.S. */
__asm__(".text\n.globl __cairn_flight_left\n.def __cairn_flight_left; .scl 2; .type 32; .endef\n"
        ".seh_proc __cairn_flight_left\n__cairn_flight_left:\n"
        "pushq %rax\n.seh_pushreg %rax\n.seh_endprologue\n"
        "movq __cairn_local(%rip), %r11\ntestb $1, %gs:12(%r11)\njnz 1f\n"
        "movq %gs:(%r11), %rax\naddw $8, %ax\njz 2f\ncmpq $65536, %rax\njb 2f\n"
        "movq %rax, %gs:(%r11)\nmovl %gs:12(%r11), %r11d\nmovl %r11d, -4(%rax)\nmovl $1, -8(%rax)\n"
        "movq __cairn_local(%rip), %r11\n"
        "1: leaq 16(%rsp), %rax\nmovl %eax, %gs:12(%r11)\n"
        "movq %gs:8, %rax\ncmpq %rax, %gs:16(%r11)\npopq %rax\njne 3f\nret\n"
        "2: popq %rax\njmp __cairn_flight_slow\n"
        "3: jmp __cairn_flight_turned\n.seh_endproc\n");
_Static_assert(LOG_FLIGHT_EXIT == 1 && __builtin_offsetof(struct flight_at, left) == 12 && __builtin_offsetof(struct flight_at, base) == 16, "as above");

/* take_slots takes slots for the words of threads, and returns the first, or SLOTS. */
static u32 take_slots(void) {
  u64 taken = 0;
  u32 first = SLOTS;
  while (first == SLOTS) {
    u32 slot = TlsAlloc();
    if (slot >= SLOTS) {
      TlsFree(slot);
      break;
    }
    taken |= 1ull << slot;
    u64 runs = taken & taken >> 1 & taken >> 2;
    if (runs) first = (u32)__builtin_ctzll(runs);
  }
  if (first < SLOTS) taken &= ~(7ull << first);
  for (u32 i = 0; i < SLOTS; i++)
    if (taken >> i & 1) TlsFree(i);
  return first;
}

/* make_recorder makes the recorder. Its module stays, as the state refers to its code. Without slots nothing is recorded. */
static void make_recorder(struct process *p) {
  enum { PIN_ADDRESS = 5 };
  static struct flight flight;
  static u8 sink[2 * CHUNK];
  u32 slot = take_slots();
  void *module;
  flight.sink = (u8 *)(((u64)sink + CHUNK - 1) & -CHUNK);
  p->flight.local = TLS_SLOTS + 8 * slot;
  if (slot == SLOTS) {
    if (p->flight.chunks && !p->off) say(u"cairn: no last calls are kept: no three of the first 64 slots of thread-local storage beside each other are left for --flight\n");
    p->flight.local = SPARE_FLIGHT, p->flight.chunks = 0;
  }
  p->flight.left = call_left, p->flight.keep_window = keep_window, p->flight.switched = switched;
  store(&p->flight.recorder, &flight);
  GetModuleHandleExW(PIN_ADDRESS, __ImageBase, &module);
}

/* start_flight makes this module record, in the log that has the rings. */
static void start_flight(struct process *p) {
  if (!p->flight.recorder) make_recorder(p);
  __cairn_local = p->flight.local;
  if (p->off || !p->flight.chunks || !take(p)) return;
  if (p->first) {
    u8 *h = map_at(p, 0); /* its header says that it has no recorder */
    if (h) write_header(p, h), UnmapViewOfFile(h);
  }
  begin_log(p);
  give(p);
}
