/* What the loader knows of functions for Go programs. */
struct function { const char *name; void *at; };
extern const struct function go_functions[];
void thread_begins(void); /* sets up what Go has in a thread */
