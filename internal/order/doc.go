// Package order computes in which order a program's functions should be linked,
// from traces of first executions, counts and call edges. It is pure.
package order
