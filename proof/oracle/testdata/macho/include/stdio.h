/* What tests declare of macOS's C library, for which there is no SDK. The loader has it all. */
#ifndef STDIO_H
#define STDIO_H
#include <stdarg.h>
#include <stddef.h>
typedef struct file FILE;
extern FILE *__stdinp, *__stdoutp, *__stderrp;
#define stdin __stdinp
#define stdout __stdoutp
#define stderr __stderrp
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
int printf(const char *, ...), fprintf(FILE *, const char *, ...), sprintf(char *, const char *, ...);
int snprintf(char *, size_t, const char *, ...), sscanf(const char *, const char *, ...);
int vprintf(const char *, va_list), vfprintf(FILE *, const char *, va_list), vsnprintf(char *, size_t, const char *, va_list);
int puts(const char *), putchar(int), fputs(const char *, FILE *), fputc(int, FILE *), fflush(FILE *), fclose(FILE *);
int fgetc(FILE *), feof(FILE *), fseek(FILE *, long, int);
long ftell(FILE *);
FILE *fopen(const char *, const char *);
size_t fread(void *, size_t, size_t, FILE *), fwrite(const void *, size_t, size_t, FILE *);
#endif
