#ifndef STDLIB_H
#define STDLIB_H
#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t), free(void *);
void exit(int) __attribute__((noreturn)), abort(void) __attribute__((noreturn)), _exit(int) __attribute__((noreturn));
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void *bsearch(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));
int atoi(const char *), atexit(void (*)(void)), abs(int);
long atol(const char *), strtol(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
double strtod(const char *, char **), atof(const char *);
char *getenv(const char *);
#endif
