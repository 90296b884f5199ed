// Functions that compilers inline into each other, and blocks with variables of their own, one in the other.
extern int look(int), tell(const char *), table[];

static inline int digit(int c) {
  int d = c - '0';
  if (d < 0 || d > 9) {
    int letter = c | 32;
    if (letter < 'a' || letter > 'f') return tell("no digit"), -1;
    d = letter - 'a' + 10;
  }
  return d;
}

static inline int number(const char **at) {
  int n = 0;
  for (;;) {
    int d = digit(**at);
    if (d < 0) return n;
    if (n > 1 << 24) {
      int over = n >> 24;
      tell("too large");
      n -= over << 24;
    }
    n = n * 16 + d;
    ++*at;
  }
}

int sum(const char *text) {
  int total = 0;
  while (*text) {
    if (*text == ',') {
      const char *from = text++;
      int n = number(&text);
      for (int i = 0; i < n; i++) {
        int known = table[i];
        if (look(known)) {
          int twice = 2 * known;
          total += twice > 100 ? look(twice) : number(&from);
        } else if (known < 0) {
          int c = tell("negative");
          while (c-- > 0) total -= digit(c);
        }
      }
    } else {
      int n = number(&text);
      if (n == 0) return tell("nothing");
      total += n;
    }
  }
  return total;
}

int main(int argc, char **argv) {
  int all = 0;
  for (int i = 1; i < argc; i++) {
    int n = sum(argv[i]);
    if (n > 7) {
      const char *again = argv[i];
      all += number(&again);
    }
    all ^= n;
  }
  return all;
}
