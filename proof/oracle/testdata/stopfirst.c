/* Linked with -Wl,--wrap=main: the program stops itself before it begins, for steps.c. */
#ifdef __cplusplus
extern "C" {
#endif
int __real_main(int, char **, char **);
int __wrap_main(int argc, char **argv, char **env) {
  __asm__ volatile("int3");
  return __real_main(argc, argv, env);
}
#ifdef __cplusplus
}
#endif
