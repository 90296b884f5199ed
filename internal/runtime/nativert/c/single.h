/* Whether a process had one thread so far. Counts are then exact: no increments are lost. */

/* had_one_thread returns CAIRN_RAW_SINGLE if so, and 0 if the C library does not tell. */
INLINE u16 had_one_thread(void) {
#if GLIBC
  return &__libc_single_threaded && __libc_single_threaded ? CAIRN_RAW_SINGLE : 0;
#else
  return pthread_create ? 0 : CAIRN_RAW_SINGLE; /* a static program without threads */
#endif
}
