int printf(const char *, ...);
__attribute__((constructor)) static void forced(void) { printf("forced\n"); }
