package spikes

// SystemCall returns the name of a system call of x86-64 in which a thread may wait.
func SystemCall(number int) string { return systemCall(number) }
