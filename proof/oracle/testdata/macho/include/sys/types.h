#ifndef TYPES_H
#define TYPES_H
#include <stddef.h>
typedef long off_t, ssize_t, time_t;
#endif
