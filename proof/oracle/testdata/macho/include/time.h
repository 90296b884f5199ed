#ifndef TIME_H
#define TIME_H
#include <stddef.h>
typedef long time_t;
typedef unsigned long clock_t;
#define CLOCKS_PER_SEC 1000000
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; long tm_gmtoff; char *tm_zone; };
time_t time(time_t *), mktime(struct tm *);
clock_t clock(void);
struct tm *gmtime(const time_t *), *localtime(const time_t *);
size_t strftime(char *, size_t, const char *, const struct tm *);
double difftime(time_t, time_t);
#endif
