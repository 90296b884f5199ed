// Package disk asks the system about the space on disks.
package disk

// Space is that of a file system, in bytes.
type Space struct {
	Free  uint64 // for this user
	Total uint64
}
