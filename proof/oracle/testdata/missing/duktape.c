// Runs a script of JavaScript, so many times, in Duktape.
#include <stdio.h>
#include <stdlib.h>

#include "duktape.h"

static duk_ret_t print(duk_context *ctx) {
  puts(duk_to_string(ctx, 0));
  return 0;
}

int main(int argc, char **argv) {
  static char script[1 << 16];
  FILE *f = argc > 2 ? fopen(argv[2], "r") : NULL;
  if (!f || !fread(script, 1, sizeof script - 1, f)) return 2;
  for (int i = 0; i < atoi(argv[1]); i++) {
    duk_context *ctx = duk_create_heap_default();
    duk_push_c_function(ctx, print, 1);
    duk_put_global_string(ctx, "print");
    if (duk_peval_string(ctx, script)) puts(duk_safe_to_string(ctx, -1));
    duk_destroy_heap(ctx);
  }
  return 0;
}
