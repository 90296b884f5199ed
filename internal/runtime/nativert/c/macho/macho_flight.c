/* The flight recorder of mode spike, as c/timed/flight.h has it. A thread has its words in the slots of two keys of pthread beside each
 * other, in its block. All are 0 until it calls something: the clock is not, so that the first entry comes here. */

#include "flight.h"

#define PAYLOAD ((u64)LOG_CHUNK_SIZE - LOG_CHUNK_HEADER_SIZE)
enum { FLIGHT_NONE = 0 };

/* Position, clock and left are as in c/timed/timed.h. */
struct flight_at {
  u64 position;
  u32 clock, left;
};

#if __aarch64__
#define OWN_FLIGHT struct flight_at
#define own_flight() ((OWN_FLIGHT *)slot_at(__cairn_state->flight.local))
#else
#define OWN_FLIGHT __attribute__((address_space(256))) struct flight_at /* of gs */
#define own_flight() ((OWN_FLIGHT *)__cairn_state->flight.local)
#endif

#define is_deserted(p) 0
#define recording(p) ((p)->flight.chunks && !(p)->failed && !(p)->off && load(&(p)->first))
#define lock_windows(p) take(p)
#define unlock_windows(p) give(p)

static void zero_chunk(u8 *at) {
  for (u64 i = 0; i < CHUNK / 8; i++) ((volatile u64 *)at)[i] = 0;
}

#include "flight_memory.h"

/* Other stacks than the thread's own are not known. */
static void record_stacks(struct process *p, struct ring *r) {}

#include "flight_ring.c"

void __cairn_flight_turn(u64 sp) {}

/* seal_last ends the chunk of this thread, which ends. */
static void seal_last(struct process *p, struct ring *r) {
  if (r->last && !r->last->used) seal_ring(r->last, own_flight()->position, now(p));
}

/* flight_left records the last exit, which the next entry does not imply. */
static void flight_exit(u64 sp) {
  OWN_FLIGHT *at = own_flight();
  if (!(at->left & 1)) {
    if (at->position == FLIGHT_NONE || full(at->position)) {
      __cairn_flight_more(sp);
      return;
    }
    append(LOG_FLIGHT_EXIT, at->left);
  }
  at->left = (u32)sp;
}

static u64 of_flight_slow(u64 r, u8 *vectors, u64 sp) {
  u64 saved = begin_system(vectors);
  __cairn_flight_more(sp);
  end_system(saved, vectors);
  return 0;
}

static u64 of_flight_left(u64 r, u8 *vectors, u64 sp) {
  u64 saved = begin_system(vectors);
  flight_exit(sp);
  end_system(saved, vectors);
  return 0;
}

ROUTINE(flight_slow)
ROUTINE(flight_left)

/* make_recorder makes the recorder, and reports whether there is one. Its image stays, as the state refers to its code. */
static int make_recorder(struct process *p, const char *image) {
  struct flight *f = (struct flight *)anonymous(sizeof *f);
  u64 key = 0;
  if (f) f->sink = map_memory(CHUNK, PROT_RW);
  if (!f || !f->sink || !(key = take_keys(2, 0, 0))) return print_error("no memory, or no two keys of pthread beside each other are left for --flight", ""), 0;
  p->flight.local = 8 * key;
  p->flight.left = call_left, p->flight.seal = seal_last, p->flight.keep_window = keep_window;
  store(&p->flight.recorder, f);
  stay(image);
  return 1;
}

/* say_flight makes the header of the log, which an image without a recorder has begun, say that there are rings. */
static void say_flight(struct process *p) {
  int fd = open(p->path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (is_log(p, fd)) {
    put_header(p, p->header);
    pwrite(fd, p->header, sizeof p->header, 0);
  }
  close(fd);
}

/* start_flight makes this image record, in the log that has the rings, and reports whether it does. */
static int start_flight(struct process *p, const char *image) {
  if (!p->flight.recorder && !make_recorder(p, image)) return 0;
  if (p->off || !p->flight.chunks) return 1;
  take(p);
  if (p->first) say_flight(p);
  else begin_log(p);
  give(p);
  return 1;
}

/* fork_flight makes a child record in chunks of its own. */
static void fork_flight(struct process *p, struct thread *t) {
  struct flight *f = p->flight.recorder;
  if (!f) return;
  f->windows = f->chunks = 0, f->spare = 0;
  p->flight.free = 0, p->flight.missed = 0;
  if (t) t->ring = 0;
  own_flight()->position = FLIGHT_NONE, own_flight()->clock = 0, own_flight()->left = 0;
}
