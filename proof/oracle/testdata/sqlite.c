/* Runs SQL: sqlite DATABASE SCRIPT PHASES. The script's phases are parted by
 * lines that start with "-- phase". After the given number of phases it says so
 * and waits for the end of its input. Then it exits as it stands, or closes the
 * database if all phases are done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sqlite3-binding.h"

static unsigned long long sum;
static unsigned long long *rows;
static int row_count, row_room;

static unsigned long long mix(unsigned long long h, const char *s) {
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211UL;
  return h;
}

static int on_row(void *arg, int n, char **values, char **names) {
  (void)arg;
  (void)names;
  unsigned long long h = 14695981039346656037ULL;
  for (int i = 0; i < n; i++) h = mix(h, values[i] ? values[i] : "NULL");
  if (row_count == row_room) rows = realloc(rows, sizeof *rows * (row_room = row_room * 2 + 16));
  rows[row_count++] = h;
  return 0;
}

static int by_value(const void *a, const void *b) {
  unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;
  return x < y ? -1 : x > y;
}

/* What SQLite calls back. */
static void weigh(sqlite3_context *c, int n, sqlite3_value **v) {
  sqlite3_int64 w = 0;
  for (int i = 0; i < n; i++) w = w * 7 + sqlite3_value_bytes(v[i]);
  sqlite3_result_int64(c, w);
}

static int backwards(void *arg, int n, const void *a, int m, const void *b) {
  (void)arg;
  int r = memcmp(b, a, (size_t)(n < m ? n : m));
  return r ? r : m - n;
}

static void phase(sqlite3 *db, const char *sql, int number) {
  char *error = 0;
  row_count = 0;
  if (sqlite3_exec(db, sql, on_row, 0, &error)) {
    fprintf(stderr, "phase %d: %s\n", number, error);
    exit(1);
  }
  qsort(rows, (size_t)row_count, sizeof *rows, by_value);
  for (int i = 0; i < row_count; i++) sum = sum * 31 + rows[i];
  printf("phase %d: %d rows, %llx\n", number, row_count, sum);
}

static char *read_all(const char *name) {
  FILE *f = fopen(name, "rb");
  if (!f) {
    perror(name);
    exit(1);
  }
  fseek(f, 0, SEEK_END);
  size_t size = (size_t)ftell(f);
  rewind(f);
  char *text = malloc(size + 1);
  size = fread(text, 1, size, f);
  text[size] = 0;
  fclose(f);
  return text;
}

/* The only function that sees a difference between kill -9 and an exit here. */
static __attribute__((noinline)) void wait_for_end(int unfinished) {
  char c;
  puts("waiting");
  fflush(stdout);
  while (read(0, &c, 1) > 0) continue;
  if (unfinished) exit(0);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  sqlite3 *db;
  if (sqlite3_open(argv[1], &db)) return 1;
  sqlite3_create_function(db, "weigh", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, 0, weigh, 0, 0);
  sqlite3_create_collation(db, "backwards", SQLITE_UTF8, 0, backwards);
  char *text = read_all(argv[2]), *sql = text;
  int number = 0, last = atoi(argv[3]);
  while (sql && number < last) {
    char *next = strstr(sql, "\n-- phase");
    if (next) *next++ = 0;
    phase(db, sql, ++number);
    sql = next;
  }
  wait_for_end(sql != 0);
  sqlite3_close(db);
  free(rows);
  free(text);
  puts("closed");
  return 0;
}
