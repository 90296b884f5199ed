#ifndef ASSERT_H
#define ASSERT_H
void abort(void) __attribute__((noreturn));
#define assert(e) ((e) ? (void)0 : abort())
#endif
