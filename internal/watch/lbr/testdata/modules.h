int library_step(int x);
int library_tail(int (*f)(int), int x);
int library_calls(int (*f)(int), int x);
int library_chosen(int x);
void library_sort(int *v, int n);
