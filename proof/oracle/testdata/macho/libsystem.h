#include <stdint.h>

/* What the loader knows of functions for Go programs. */
struct function { const char *name; void *at; };
extern const struct function go_functions[];
extern const struct function thread_functions[], mach_functions[];
void thread_begins(void); /* sets up what Go has in a thread */

/* Thread-local variables: the thunk of their descriptors, the end of an object of a thread, and what the
 * sections of an image that hold the variables are. */
void tlv_thunk(void);
void tlv_atexit(void (*f)(void *), void *object);
void tlv_section(int image, int kind, char *at, uint64_t size);

/* Makes exceptions pass through the code of an image: its sections __unwind_info and, if there is
 * one, __eh_frame. */
void register_unwind(uint64_t image, const void *section, uint64_t size, void *eh_frame);

/* What a thread has for keys of pthread, and code that reads it. */
void begin_slots(void);
void rename_register(void *at, uint64_t size);

/* What Mach knows of a thread begins and ends. */
void mach_begins(void);
void mach_ends(void);
