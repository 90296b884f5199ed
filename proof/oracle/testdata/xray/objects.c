/* objects.c - a program with 18 shared objects that are traced too. It prints
 * which number the runtime has given to each: "object N FILE". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#include "truth.h"

#define ALL(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18)

#define DECLARE(i) void outer_##i(int n);
ALL(DECLARE)

unsigned __xray_num_objects(void);
uintptr_t __xray_function_address_in_object(int, int);

UNSEEN static void print_objects(void) {
  for (unsigned o = 0; o < __xray_num_objects(); o++) {
    Dl_info info;
    if (!dladdr((void *)__xray_function_address_in_object(1, (int)o), &info)) continue;
    const char *slash = strrchr(info.dli_fname, '/');
    printf("object %u %s\n", o, slash ? slash + 1 : info.dli_fname);
  }
}

int main(void) {
#define CALL(i) outer_##i(i + 1);
  ALL(CALL)
#define PRINT(i) printf("calls outer_%d 1\ncalls inner_%d %d\nstack main;outer_%d;inner_%d %d\n", i, i, i + 1, i, i, i + 1);
  ALL(PRINT)
  print_objects();
  return 0;
}
