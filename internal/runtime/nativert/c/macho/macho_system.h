/* What the runtimes call of libSystem: the only interface to the kernel of macOS and iOS. All of it is imported weakly. */
#ifndef CAIRN_MACHO_SYSTEM_H
#define CAIRN_MACHO_SYSTEM_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
typedef u64 uword;

#define HIDDEN __attribute__((visibility("hidden")))
#define WEAK __attribute__((weak_import))

/* A file of class D can be used while the device is locked, as what is mapped over the records or over a log must be. */
extern int open(const char *, int, ...) WEAK, open_dprotected_np(const char *, int, int, int, ...) WEAK;
enum { CLASS_D = 4 };
extern i64 write(int, const void *, u64) WEAK, pwrite(int, const void *, u64, i64) WEAK, pread(int, void *, u64, i64) WEAK;
extern int unlink(const char *) WEAK, link(const char *, const char *) WEAK, rename(const char *, const char *) WEAK, getpagesize(void) WEAK;
extern void (*signal(int, void (*)(int)))(int) WEAK;
extern int close(int) WEAK, mkdir(const char *, u16) WEAK, getpid(void) WEAK, issetugid(void) WEAK, *__error(void) WEAK;
extern void *mmap(void *, u64, int, int, int, i64) WEAK, *dlopen(const char *, int) WEAK;
extern int munmap(void *, u64) WEAK, gettimeofday(void *, void *) WEAK;
extern char *getenv(const char *) WEAK, *getcwd(char *, u64) WEAK;
extern int __cxa_atexit(void (*)(void *), void *, const void *) WEAK;
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) WEAK;
extern int pthread_create(void **, const void *, void *(*)(void *), void *) WEAK, pthread_detach(void *) WEAK;
extern int pthread_key_create(u64 *, void (*)(void *)) WEAK, pthread_setspecific(u64, const void *) WEAK, pthread_key_delete(u64) WEAK;
extern int pthread_is_threaded_np(void) WEAK, pthread_sigmask(int, const u32 *, u32 *) WEAK, pthread_threadid_np(void *, u64 *) WEAK;
extern int pthread_setname_np(const char *) WEAK, pthread_set_qos_class_self_np(u32, int) WEAK;
extern u64 pthread_self(void) WEAK, pthread_get_stackaddr_np(u64) WEAK, pthread_get_stacksize_np(u64) WEAK;
extern int pthread_getname_np(u64, char *, u64) WEAK;
extern void os_unfair_lock_lock(u32 *) WEAK, os_unfair_lock_unlock(u32 *) WEAK;
extern u64 mach_absolute_time(void) WEAK;
extern int mach_timebase_info(u32 *) WEAK, mach_wait_until(u64) WEAK;
extern int _NSGetExecutablePath(char *, u32 *) WEAK;
extern u32 _dyld_image_count(void) WEAK;
extern const void *_dyld_get_image_header(u32) WEAK;
extern const char *_dyld_get_image_name(u32) WEAK;
extern void _dyld_register_func_for_remove_image(void (*)(const void *, i64)) WEAK;
extern u8 *getsectiondata(const void *, const char *, const char *, u64 *) WEAK;

enum { O_RDWR = 2, O_CREAT = 0x200, O_EXCL = 0x800, O_CLOEXEC = 0x1000000, EEXIST = 17 };
enum { PROT_NONE, PROT_RW = 3, MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_FIXED = 0x10, MAP_NORESERVE = 0x40, MAP_ANON = 0x1000 };
enum { SIG_BLOCK = 1, SIG_SETMASK = 3 };

#endif
