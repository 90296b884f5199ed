/* The queue of a thread: records of spikes for the thread that writes the log. Its first part is in
 * the log itself, so that records survive however the process ends; records that do not fit go to a
 * part in memory, which has room for bursts.
 *
 * The thread advances the heads, the writer the rest. A record goes into the log only while the
 * part in memory is empty. So records in the log are older than those in memory, if the head of the
 * part in memory is read first.
 *
 * The part in the log is a mapped file, which other processes may change or truncate: the writer
 * copies each record once, and checks its lengths. */

#include "timed.h"

enum { SKIP = 0xffff /* in place of a type: the rest of the ring is not used */, AWAIT = 200 * MS };

/* ---- the thread ---- */

/* await waits for the log to be opened, once in a process: the process may end before the writer
 * runs. A child that forks and runs another program makes no spikes. */
static void await(struct process *p) {
  if (p->log.file.failed || !p->dir[0] || __atomic_exchange_n(&p->queue.awaited, 1, __ATOMIC_RELAXED)) return;
  u32 want = add(&p->log.flush_want, 1) + 1;
  u64 end = __cairn_now(p) + AWAIT;
  uword ts[2] = {0, 10 * MS};
  __cairn_wake(p);
  while ((i32)(load(&p->log.flush_done) - want) < 0 && !load(&p->log.file.begun) && !p->log.file.failed && __cairn_now(p) < end)
    sys4(SYS_futex, &p->log.flush_done, FUTEX_WAIT, load(&p->log.flush_done), ts);
}

/* give assigns a thread its part of the log; a chunk has several parts. If another thread holds the
 * lock, it returns without a part instead of waiting. */
static void give(struct process *p, struct thread *t) {
  u64 mask = block_most();
  if (!__atomic_exchange_n(&p->queue.lock, 1, __ATOMIC_ACQUIRE)) {
    if (!p->queue.left) {
      p->queue.chunk = __cairn_file_chunk(p, LOG_KIND_QUEUE, p->time.clock->last_tick);
      p->queue.left = p->queue.chunk ? LOG_QUEUES : 0;
      t->log_chunk = p->queue.chunk;
    }
    if (p->queue.left)
      t->logged = p->queue.chunk + LOG_CHUNK_HEADER_SIZE + (LOG_QUEUES - p->queue.left--) * LOG_QUEUE_SIZE;
    t->log_head = t->log_read = 0;
    store(&p->queue.lock, 0);
  }
  unblock(mask);
}

static u8 *reserve_in_log(struct process *p, struct thread *t, u64 size) {
  if (!t->logged && !p->log.file.failed && load(&p->log.file.begun)) give(p, t);
  if (!t->logged) return 0;
  u64 at = t->log_head % LOG_QUEUE_ROOM, rest = LOG_QUEUE_ROOM - at, used = t->log_head - load(&t->log_read);
  u8 *ring = t->logged + LOG_QUEUE_HEADER_SIZE;
  if (rest >= size) return used + size > LOG_QUEUE_ROOM ? 0 : ring + at;
  if (used + rest + size > LOG_QUEUE_ROOM) return 0;
  *(u16 *)(ring + at) = SKIP;
  t->log_head += rest; /* invisible until a record follows it */
  return ring;
}

static u8 *reserve_in_memory(struct thread *t, u64 size) {
  u64 at = t->head % QUEUE;
  if (QUEUE - at < size) {
    if (t->head + (QUEUE - at) + size - load(&t->tail) > QUEUE) return 0;
    *(u16 *)(t->queue + at) = SKIP;
    store(&t->head, t->head + (QUEUE - at));
    at = 0;
  } else if (t->head + size - load(&t->tail) > QUEUE) {
    return 0;
  }
  return t->queue + at;
}

/* reserve returns room for a record at the queue's head, or 0. The record becomes visible with
 * commit. It is contiguous: if it does not fit before the end of the ring, that rest is skipped. */
u8 *__cairn_reserve(struct thread *t, u64 size) {
  struct process *p = __cairn_state;
  u8 *r = 0;
  if (load(&t->read) == t->head) r = reserve_in_log(p, t, size);
  t->in_log = r != 0;
  return r ? r : reserve_in_memory(t, size);
}

/* commit publishes a reserved record with its actual size. */
void __cairn_commit(struct thread *t, u8 *record, u32 type, u64 size) {
  ((u16 *)record)[0] = (u16)type;
  ((u16 *)record)[1] = (u16)size;
  if (!t->in_log) {
    store(&t->head, t->head + size);
    return;
  }
  store(&t->log_next, t->log_head + size);
  t->log_head += size;
  store((u64 *)t->logged, t->log_head); /* for readers of the log after the process has ended */
}

void __cairn_publish(struct process *p, struct thread *t, u8 *record, u32 type, u64 size) {
  ((u32 *)record)[1] = (u32)t->owner;
  __cairn_commit(t, record, type, size);
  store(word(p, PENDING), 1);
}

/* ready makes sure that the log is opened for a thread that has found a spike. */
void __cairn_queue_ready(struct process *p, struct thread *t) {
  if (!t->logged && !load(&p->log.file.begun)) await(p);
}

/* forget empties the queue in a child made by fork, and leaves the log to the parent. */
void __cairn_queue_forget(struct thread *t) {
  if (t->log_chunk) __cairn_file_unmap(t->log_chunk);
  t->log_chunk = t->logged = 0;
  t->log_head = t->log_next = t->log_read = 0;
  t->read = t->head;
  t->tail = t->head / QUEUE_BLOCK * QUEUE_BLOCK;
}

/* ---- the writer ---- */

/* is_valid reports whether the lengths in a record are valid. */
static int is_valid(const u8 *r, u64 size) {
  const u64 *f = (const u64 *)r;
  switch (*(const u16 *)r) {
  case LOG_TYPE_FRAMES: return size >= 32;
  case LOG_TYPE_PARENT: return size >= LOG_PARENT_SIZE;
  case LOG_TYPE_USAGE: return size >= LOG_USAGE_SIZE;
  case LOG_TYPE_SUSPENDED: return size >= LOG_SUSPENDED_SIZE;
  case LOG_TYPE_WAIT:
    return size >= LOG_WAIT_SIZE && (f[5] & 0xffff) * LOG_REASON_SIZE + (f[5] >> 16 & 0xffff) * 8 + (f[5] >> 32 & 0xffff) <= size - LOG_WAIT_SIZE;
  case LOG_TYPE_HOLDER: return size >= LOG_HOLDER_SIZE && (f[6] >> 32 & 0xffff) * 8 <= size - LOG_HOLDER_SIZE;
  case LOG_TYPE_TEXT: return size >= LOG_TEXT_SIZE && (f[3] >> 16 & 0xffff) <= size - LOG_TEXT_SIZE;
  case LOG_TYPE_EPISODE:
    return size >= LOG_EPISODE_SIZE && (f[8] & 0xffff) + (f[8] >> 16 & 0xffff) <= (size - LOG_EPISODE_SIZE) / LOG_ENTRY_SIZE;
  }
  return 0;
}

/* fetch copies the first record of a part that has left bytes, of which room are contiguous, and
 * returns its size; it sets skipped if there is a gap instead of a record. 0: the record is
 * invalid. */
static u64 fetch(struct process *p, const u8 *from, u64 left, u64 room, int *skipped) {
  u64 size = *(const volatile u16 *)(from + 2);
  *skipped = *(const volatile u16 *)from == SKIP;
  if (*skipped) return room <= left ? room : 0;
  if (size < 8 || size % 8 || size > least(left, room) || size > sizeof p->log.taken) return 0;
  copy(p->log.taken, from, size);
  ((u16 *)p->log.taken)[1] = (u16)size;
  return is_valid(p->log.taken, size) ? size : 0;
}

/* advance returns read memory to the kernel, a block at a time: queues are long for bursts, but
 * should not stay in memory. Only then may the thread write there again. */
static void advance(struct thread *t, u64 to) {
  u64 block = t->read / QUEUE_BLOCK;
  if (to / QUEUE_BLOCK != block) {
    sys3(SYS_madvise, t->queue + block * QUEUE_BLOCK % QUEUE, QUEUE_BLOCK, MADV_DONTNEED);
    store(&t->tail, to / QUEUE_BLOCK * QUEUE_BLOCK);
  }
  store(&t->read, to);
}

/* advance_in_log keeps records for readers of the log while there is room, if the log could not
 * take them. */
static void advance_in_log(struct process *p, struct thread *t, u64 to) {
  u64 *told = (u64 *)t->logged + 1;
  if (!p->log.file.failed || to - *told > LOG_QUEUE_ROOM - 2 * sizeof p->log.taken) *told = to;
  store(&t->log_read, to);
}

int __cairn_queue_empty(struct thread *t) { return load(&t->head) == t->read && load(&t->log_next) == t->log_read; }

/* drain calls take for the records that are in a queue at the start, so that a busy thread does not
 * delay the others. A record leaves the queue when the log has it. */
void __cairn_queue_drain(struct process *p, struct thread *t, void (*take)(struct process *, struct thread *, u8 *)) {
  u64 head = load(&t->head), log_head = load(&t->log_next), size;
  int skipped;
  while (t->log_read != log_head) {
    u64 at = t->log_read % LOG_QUEUE_ROOM, left = log_head - t->log_read;
    size = fetch(p, t->logged + LOG_QUEUE_HEADER_SIZE + at, left, LOG_QUEUE_ROOM - at, &skipped);
    if (!size) size = left, add(&p->count.dropped, 1);
    else if (!skipped) take(p, t, p->log.taken);
    advance_in_log(p, t, t->log_read + size);
  }
  while (t->read != head) {
    u64 at = t->read % QUEUE;
    size = fetch(p, t->queue + at, head - t->read, QUEUE - at, &skipped);
    if (!size) size = head - t->read, add(&p->count.dropped, 1);
    else if (!skipped) take(p, t, p->log.taken);
    advance(t, t->read + size);
  }
}
