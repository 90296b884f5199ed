#ifdef CAIRN_BUNDLE
/* Bundles of recorded files, for programs that upload them themselves: define CAIRN_BUNDLE before
 * this header is included. It needs POSIX and malloc.
 *
 *   size_t size;
 *   void *data = cairn_bundle(dir, 4 << 20, &size);
 *   if (data && upload(data, size))       // POST to https://collector/v1/files
 *     cairn_bundle_remove(dir, data, size);
 *   free(data);
 *
 * A run that is uploaded twice is counted once, so a program that crashes between the upload and
 * the removal does no harm. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline uint32_t cairn_bundle_crc_(uint32_t crc, const unsigned char *p, size_t n) {
  int k;
  crc = ~crc;
  while (n--) {
    crc ^= *p++;
    for (k = 0; k < 8; k++) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

static inline void cairn_bundle_put_(unsigned char *p, uint64_t n, int bytes) {
  for (; bytes--; n >>= 8) *p++ = (unsigned char)n;
}

/* Reports whether name is that of a file of another process, which has ended:
 * NAME.BUILDID.PID.N.mipraw or .cairnlog. */
static inline int cairn_bundle_wanted_(const char *name) {
  size_t n = strlen(name), i, dots = 0;
  long pid;
  const char *end = n > 7 ? name + n - 7 : name;
  if (!strcmp(end, ".mipraw"))
    n -= 7;
  else if (n > 9 && !strcmp(name + n - 9, ".cairnlog"))
    n -= 9;
  else
    return 0;
  if (n > 240) return 0;
  for (i = n; i > 0 && dots < 2; i--)
    if (name[i - 1] == '.') dots++;
  if (dots < 2) return 0;
  pid = strtol(name + i + 1, 0, 10);
  return pid > 0 && pid != (long)getpid() && kill((pid_t)pid, 0) != 0;
}

/* A file in the bundle: 16 bytes, the name, the data. */
static inline void cairn_bundle_head_(unsigned char *head, int kind, const char *name, uint64_t size) {
  size_t n = strlen(name);
  memset(head, 0, 16);
  head[0] = (unsigned char)kind;
  head[1] = (unsigned char)n;
  cairn_bundle_put_(head + 8, size, 8);
  memcpy(head + 16, name, n);
  cairn_bundle_put_(head + 4, cairn_bundle_crc_(0, head, 16 + n + (kind ? (size_t)size : 0)), 4);
}

/* cairn_bundle returns the files in a directory that belong to processes which have ended, as one
 * allocation in the format that cairn collect accepts. It takes at most `limit` bytes; the next
 * call takes the rest. Returns null if there are no files or no memory. */
static inline void *cairn_bundle(const char *dir, size_t limit, size_t *size) {
  unsigned char *data = (unsigned char *)malloc(28), *grown;
  size_t used = 12, n;
  uint64_t files = 0;
  char path[4096];
  struct dirent *e;
  struct stat st;
  FILE *f;
  DIR *d = opendir(dir);
  if (data && d) {
    memcpy(data, "CAIRNBDL\1\0\0\0", 12);
    while ((e = readdir(d))) {
      n = strlen(e->d_name);
      if (!cairn_bundle_wanted_(e->d_name) || snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path) continue;
      if (!(f = fopen(path, "rb"))) continue;
      if (!fstat(fileno(f), &st) && st.st_size >= 0 && S_ISREG(st.st_mode) && limit > used + 32 + n && (uint64_t)st.st_size <= limit - used - 32 - n &&
          (grown = (unsigned char *)realloc(data, used + 32 + n + (size_t)st.st_size))) {
        data = grown;
        if (fread(data + used + 16 + n, 1, (size_t)st.st_size, f) == (size_t)st.st_size) {
          cairn_bundle_head_(data + used, 1, e->d_name, (uint64_t)st.st_size);
          used += 16 + n + (size_t)st.st_size;
          files++;
        }
      }
      fclose(f);
    }
  }
  if (d) closedir(d);
  if (!files) {
    free(data);
    return 0;
  }
  cairn_bundle_head_(data + used, 0, "", files);
  *size = used + 16;
  return data;
}

/* cairn_bundle_remove removes the files that are in a bundle of cairn_bundle. Call it when the
 * collector has answered 200. */
static inline void cairn_bundle_remove(const char *dir, const void *bundle, size_t size) {
  const unsigned char *p = (const unsigned char *)bundle;
  char path[4096];
  size_t at = 12, n;
  uint64_t length;
  int i;
  while (at + 16 <= size && p[at]) {
    for (length = 0, i = 7; i >= 0; i--) length = length << 8 | p[at + 8 + i];
    n = p[at + 1];
    if (snprintf(path, sizeof path, "%s/%.*s", dir, (int)n, (const char *)p + at + 16) < (int)sizeof path) remove(path);
    at += 16 + n + (size_t)length;
  }
}
#endif
