/* Calls that cross between an executable and libraries that it links, or loads
 * under names of their own. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "timed.h"

static void (*library_call)(void (*)(uint64_t), uint64_t);
static void (*library_spike)(uint64_t);

void BODY(middle)(uint64_t ns) { library_spike(ns); }
void middle(uint64_t ns);
TIMED(middle);
void BODY(top)(uint64_t ns) { library_call(middle, ns); }
void top(uint64_t ns);
TIMED(top);

int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  for (int i = 2; i < argc; i++) {
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    *(void **)&library_call = dlsym(library, "library_call");
    *(void **)&library_spike = dlsym(library, "library_spike");
    for (int k = 0; k < n; k++) top(6000000);
    dlclose(library);
  }
  return 0;
}
