// The C library has none for this size of pointers.
