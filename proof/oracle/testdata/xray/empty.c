/* empty.c - all of its calls are shorter than those that are logged. */
int main(void) { return 0; }
