/* small.c - a small program: small < FILE compresses a file with LZ4, expands
 * it again, compares and says how small it became. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lz4.h"

enum { MAX_SIZE = 1 << 24 };

int main(void) {
  char *text = malloc(MAX_SIZE), *again = malloc(MAX_SIZE), *packed = malloc(LZ4_COMPRESSBOUND(MAX_SIZE));
  if (!text || !again || !packed) return 1;
  int size = (int)fread(text, 1, MAX_SIZE, stdin);
  int n = LZ4_compress(text, packed, size);
  int m = LZ4_decompress_safe(packed, again, n, MAX_SIZE);
  if (m != size || memcmp(text, again, (size_t)size) != 0) return 1;
  printf("%d bytes, %d packed\n", size, n);
  return 0;
}
