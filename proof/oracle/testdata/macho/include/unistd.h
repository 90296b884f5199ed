#ifndef UNISTD_H
#define UNISTD_H
#include <stddef.h>
int fork(void), getpid(void), close(int), unlink(const char *), waitpid(int, int *, int);
long write(int, const void *, size_t), read(int, void *, size_t);
void _exit(int) __attribute__((noreturn));
#endif
