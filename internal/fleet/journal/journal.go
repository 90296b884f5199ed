// Package journal defines the log of a collector: the uploads that were acknowledged and are not
// in a snapshot yet, in one order.
//
// The order makes merging restartable. Records are numbered without gaps. A snapshot has the number of the
// last record in it, and a process that continues from the snapshot reads the next record. There are two
// drivers: package segment keeps a journal in files of one directory, for one process, and package object in an object
// store, for any number of them. Package journaltest tests both.
package journal

import (
	"context"
	"errors"
)

// Record is one append, or says that some are lost.
type Record struct {
	Seq  uint64 // from 1
	Data []byte
	// Lost is the number of records up to Seq, inclusive, that were acknowledged and cannot be read
	// any more, since the disk is damaged; Why describes the damage. Then there are no Data.
	Lost uint64
	Why  string
}

// Journal is a log of records. All methods may be called at any time by any number of
// goroutines, but one reads and trims.
type Journal interface {
	// Append appends a record. When it returns without an error, the record is durable: on the
	// disk, or in the object store. After an error the record may be in the journal or
	// not, unless the error is ErrFull or ErrTooLarge: then it is not.
	Append(ctx context.Context, data []byte) (seq uint64, err error)
	// Read returns a reader of the records from the given number on. If that record was trimmed,
	// Read or the first Next fails, or Next says that it is lost.
	Read(from uint64) (Reader, error)
	// Last returns the number of the last durable record, 0 if there was none.
	Last() (uint64, error)
	// Trim allows the driver to remove the records up to the given number, inclusive.
	Trim(through uint64) error
	// Close waits for appends under way.
	Close() error
}

// Gather returns an append and those that wait now, until they have so many bytes: a driver writes them together.
func Gather[T interface{ Len() int }](first T, waiting <-chan T, most int) []T {
	list, size := []T{first}, first.Len()
	for size < most {
		select {
		case next := <-waiting:
			list = append(list, next)
			size += next.Len()
		default:
			return list
		}
	}
	return list
}

// Reader reads durable records in their order.
type Reader interface {
	// Next returns the next record. It waits for one until ctx ends.
	Next(ctx context.Context) (Record, error)
	Close() error
}

var (
	// ErrFull is in the error of Append if there is no room. The existing records can be read
	// and trimmed.
	ErrFull = errors.New("no space left for the journal")
	// ErrTooLarge is in the error of Append of a record that is longer than the driver accepts.
	ErrTooLarge = errors.New("record too large for the journal")
	// ErrUnavailable is in the error of a call that may succeed later, as when an object store
	// does not answer. The record of a failed Append may be in the journal or not.
	ErrUnavailable = errors.New("the journal is not available now")
	// ErrTrimmed is in the error of Read, or of Next, if the record was removed: another process that shares the journal
	// has it in a snapshot.
	ErrTrimmed = errors.New("the record is not in the journal any more")
	// ErrClosed is the error of all calls after Close.
	ErrClosed = errors.New("the journal is closed")
)
