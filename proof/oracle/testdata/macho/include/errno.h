#ifndef ERRNO_H
#define ERRNO_H
extern int *__error(void);
#define errno (*__error())
#define ENOMEM 12
#define EINVAL 22
#endif
