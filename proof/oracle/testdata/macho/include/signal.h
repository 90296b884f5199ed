#ifndef SIGNAL_H
#define SIGNAL_H
#define SIGUSR1 10 /* those of the loader's system */
#define SIGUSR2 12
void (*signal(int, void (*)(int)))(int);
int raise(int);
#endif
