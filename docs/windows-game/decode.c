#include <windows.h>
#include "level.h"

enum { CHUNK = 1 << 16 };

static unsigned char chunk[CHUNK];

double milliseconds(void) {
  LARGE_INTEGER now, hz;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&hz);
  return 1000.0 * now.QuadPart / hz.QuadPart;
}

/* decode_chunk takes 60 ms on any machine. */
void decode_chunk(void) {
  double end = milliseconds() + 60;
  for (unsigned n = 0; milliseconds() < end; n++)
    for (unsigned i = 1; i < CHUNK; i++) chunk[i] = (unsigned char)(chunk[i - 1] * 31 + n);
}
