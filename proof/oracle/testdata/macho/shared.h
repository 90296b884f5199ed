extern volatile int three;
int from_lib(int x);
__attribute__((noinline)) inline int common(int x) { return x ^ three; }
template <class T> struct box {
  T value;
  explicit box(T v) : value(v) {}
  __attribute__((noinline)) T open() { return value + three; }
};
