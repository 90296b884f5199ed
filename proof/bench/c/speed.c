/* speed.c - a workload for SQLite in the manner of its own speed test:
 * speed N FILE does every kind of common work on tables of about N rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sqlite3.h"

static sqlite3 *db;
static unsigned long long sum; /* of everything read, so that runs can be compared */

static void fail(const char *sql) {
  fprintf(stderr, "speed: %s: %s\n", sql, sqlite3_errmsg(db));
  exit(1);
}

static void run(const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql);
}

/* The same numbers in every run. */
static unsigned next_random(void) {
  static unsigned x = 2463534242u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return x;
}

/* number_name spells a number in words, for text that compresses and sorts
 * like text. */
static void number_name(unsigned n, char *out, size_t size) {
  static const char *const digits[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
  size_t used = 0;
  out[0] = 0;
  do {
    used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", digits[n % 10]);
    n /= 10;
  } while (n && used + 8 < size);
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *s;
  if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) fail(sql);
  return s;
}

/* drain reads all rows and makes the statement ready for the next time. */
static void drain(sqlite3_stmt *s) {
  int rc;
  while ((rc = sqlite3_step(s)) == SQLITE_ROW)
    for (int i = 0; i < sqlite3_column_count(s); i++)
      sum = sum * 31 + (unsigned long long)sqlite3_column_int64(s, i) + (unsigned)sqlite3_column_bytes(s, i);
  if (rc != SQLITE_DONE) fail(sqlite3_sql(s));
  sqlite3_reset(s);
}

static void query(const char *sql) {
  sqlite3_stmt *s = prepare(sql);
  drain(s);
  sqlite3_finalize(s);
}

static void insert(const char *table, int n, int sequential) {
  char sql[80], name[100];
  snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(?, ?, ?)", table);
  sqlite3_stmt *s = prepare(sql);
  run("BEGIN");
  for (int i = 1; i <= n; i++) {
    unsigned x = next_random() % (unsigned)n;
    number_name(x, name, sizeof name);
    sqlite3_bind_int(s, 1, sequential ? i : (int)x);
    sqlite3_bind_double(s, 2, x / 7.0);
    sqlite3_bind_text(s, 3, name, -1, SQLITE_TRANSIENT);
    drain(s);
  }
  run("COMMIT");
  sqlite3_finalize(s);
}

/* repeat runs a statement with its first parameters random, second a little
 * more. */
static void repeat(const char *sql, int times, int n, int width) {
  sqlite3_stmt *s = prepare(sql);
  for (int i = 0; i < times; i++) {
    int x = (int)(next_random() % (unsigned)n);
    sqlite3_bind_int(s, 1, x);
    if (sqlite3_bind_parameter_count(s) > 1) sqlite3_bind_int(s, 2, x + width);
    drain(s);
  }
  sqlite3_finalize(s);
}

int main(int argc, char **argv) {
  if (argc != 3 || atoi(argv[1]) < 100) {
    fprintf(stderr, "usage: speed N FILE, N at least 100\n");
    return 2;
  }
  int n = atoi(argv[1]);
  remove(argv[2]);
  if (sqlite3_open(argv[2], &db) != SQLITE_OK) fail("open");
  run("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;");
  run("CREATE TABLE plain(a INTEGER, b REAL, c TEXT);"
      "CREATE TABLE keyed(a INTEGER PRIMARY KEY, b REAL, c TEXT);"
      "CREATE TABLE late(a INTEGER, b REAL, c TEXT);");

  insert("plain", n, 0);
  insert("keyed", n, 1);
  insert("late", n, 0);
  run("CREATE INDEX late_a ON late(a); CREATE INDEX late_c ON late(c, b);");

  repeat("SELECT count(*), avg(b) FROM plain WHERE b BETWEEN ? AND ?", 5, n / 7, n / 70);
  repeat("SELECT count(*), avg(b) FROM late WHERE a BETWEEN ? AND ?", n / 10, n, 10);
  repeat("SELECT c FROM keyed WHERE a = ?", n, n, 0);
  query("SELECT count(*), avg(b) FROM plain WHERE c LIKE '%seven%'");
  query("SELECT count(*) FROM late WHERE c GLOB 'one t*' OR substr(c, 2, 2) = 'in'");

  query("SELECT a, b, c FROM plain ORDER BY c");
  query("SELECT a, c FROM late ORDER BY b DESC LIMIT 100");
  query("SELECT DISTINCT substr(c, 1, 8) FROM plain ORDER BY 1");
  query("SELECT a % 100, count(*), min(b), max(b), total(length(c)) FROM plain GROUP BY 1 HAVING count(*) > 1");
  query("SELECT p.a, k.c FROM plain p JOIN keyed k ON k.a = p.a JOIN late l ON l.a = k.a WHERE p.b > 100");
  query("SELECT count(*) FROM plain WHERE a IN (SELECT a FROM late WHERE b < 1000)");
  query("WITH RECURSIVE t(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM t WHERE i < 1000) SELECT sum(i * i) FROM t");
  query("SELECT a, sum(b) OVER (PARTITION BY a % 10 ORDER BY a ROWS 5 PRECEDING) FROM keyed WHERE a % 5 = 0");

  run("BEGIN");
  repeat("UPDATE late SET b = b * 2 WHERE a BETWEEN ? AND ?", n / 20, n, 5);
  repeat("UPDATE keyed SET c = upper(c) WHERE a = ?", n / 2, n, 0);
  repeat("DELETE FROM plain WHERE rowid BETWEEN ? AND ?", n / 100, n, 20);
  repeat("INSERT OR REPLACE INTO keyed SELECT a, b, c || '!' FROM late WHERE a BETWEEN ? AND ?", n / 20, n, 4);
  run("COMMIT");

  run("ANALYZE; CREATE TABLE copy AS SELECT * FROM late; DELETE FROM late WHERE a % 3 = 0; VACUUM;");
  query("PRAGMA integrity_check");
  sqlite3_close(db);
  remove(argv[2]);
  printf("%llu\n", sum);
#ifdef REPORT_CPU /* of this thread: other threads are those of profilers */
  struct timespec cpu;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  fprintf(stderr, "cpu %lld\n", cpu.tv_sec * 1000000000ll + cpu.tv_nsec);
#endif
  return 0;
}
