template <class T> inline __attribute__((noinline)) T twice(T n) { return n + n; }
int thrower(int n);
struct Guard {
  __attribute__((noinline)) ~Guard() { n++; }
  static int n;
};
int catcher(int n) {
  Guard g;
  try {
    return twice(thrower(n));
  } catch (int i) {
    return i;
  }
}
