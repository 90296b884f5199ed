/* shell.c - the smallest useful SQLite shell: shell DATABASE SCRIPT.sql runs
 * the script and prints rows with bars between the columns. */
#include <stdio.h>
#include <stdlib.h>

#include "sqlite3.h"

static int print_row(void *unused, int n, char **values, char **names) {
  (void)unused;
  (void)names;
  for (int i = 0; i < n; i++) printf("%s%s", i ? " | " : "  ", values[i] ? values[i] : "NULL");
  putchar('\n');
  return 0;
}

/* read_all returns the text of a file, or null. */
static char *read_all(const char *name) {
  FILE *f = fopen(name, "rb");
  if (!f) return NULL;
  char *text = NULL;
  long size;
  if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && (text = malloc((size_t)size + 1)) != NULL) {
    rewind(f);
    text[fread(text, 1, (size_t)size, f)] = 0;
  }
  fclose(f);
  return text;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: shell DATABASE SCRIPT.sql\n");
    return 2;
  }
  char *script = read_all(argv[2]);
  if (!script) {
    perror(argv[2]);
    return 1;
  }
  sqlite3 *db;
  char *message = NULL;
  int rc = sqlite3_open(argv[1], &db);
  if (rc == SQLITE_OK) rc = sqlite3_exec(db, script, print_row, NULL, &message);
  if (rc != SQLITE_OK) fprintf(stderr, "%s: %s\n", argv[2], message ? message : sqlite3_errmsg(db));
  sqlite3_free(message);
  sqlite3_close(db);
  free(script);
  return rc != SQLITE_OK;
}
