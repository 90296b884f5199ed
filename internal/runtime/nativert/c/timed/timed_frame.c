/* Frames: how long each took, from one call of CAIRN_FRAME to the next. The thread that ends a
 * frame leaves a record in its queue; the log's thread keeps a summary of all frames in one record
 * of the log: the longest frames, and a row of buckets. Whenever the row is full, each bucket
 * covers twice as many frames. */

#include "timed.h"

HIDDEN void __cairn_next_frame(void);

/* next_frame ends a frame. */
void __cairn_next_frame(void) {
  enum { SIZE = 32, WAKE = 64 };
  struct process *p = __cairn_state;
  if (!p || !load(word(p, ALIVE))) return;
  u64 number = add(&p->frames.current, 1);
  if (p->off || (p->check_pid && (i32)sys0(SYS_getpid) != p->pid)) return;
  u64 now = __cairn_now(p), last = __atomic_exchange_n(&p->frames.end, now, __ATOMIC_ACQ_REL);
  struct thread *t = __cairn_thread(p);
  if (!number || !last || now < last || !t || t->busy) return;
  t->busy_since = now;
  t->busy = 1; /* so that signal handlers do not use the queue */
  barrier();
  u64 *f = (u64 *)__cairn_reserve(t, SIZE);
  if (f) {
    f[1] = number, f[2] = now, f[3] = now - last;
    __cairn_commit(t, (u8 *)f, LOG_TYPE_FRAMES, SIZE);
  } else {
    add(&p->count.dropped, 1);
  }
  barrier();
  t->busy = 0;
  if (number % WAKE == 0) store(word(p, PENDING), 1); /* the writer need not wake for every frame */
}

/* The rest runs in the log's thread. */

#include "frames.h"
