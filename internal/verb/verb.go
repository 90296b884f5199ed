// Package verb holds the code shared by all commands of cairn: streams, errors and exit
// codes, display flags, and files that are written completely or not at all.
package verb

import (
	"fmt"
	"io"
)

// Streams are the three standard streams of a command.
type Streams struct {
	In  io.Reader
	Out io.Writer // data
	Err io.Writer // errors and remarks

	Quiet bool // print no remarks
}

// Remarks returns the writer for summaries, notes and progress, which are neither data nor errors.
func (s *Streams) Remarks() io.Writer {
	if s.Quiet {
		return io.Discard
	}
	return s.Err
}

// Exit codes, as documented in the help text.
const (
	ExitOK    = 0
	ExitFail  = 1 // the command failed, or a --strict or --check gate did
	ExitUsage = 2 // an error of the command line
	// ExitPartial is the code if the output was written, and some of the inputs are not in it.
	ExitPartial = 3

	ExitInterrupted = 128 + 2 // as in shells for SIGINT
)

// UsageError marks an error of the command line itself.
type UsageError struct{ err error }

// Error returns the message of the wrapped error.
func (e UsageError) Error() string { return e.err.Error() }

// Unwrap returns the wrapped error.
func (e UsageError) Unwrap() error { return e.err }

// Usagef returns an error that ends the command with exit code 2.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// PartialError marks that the output was written without some of the inputs.
type PartialError struct{ err error }

// Error returns the message of the wrapped error.
func (e PartialError) Error() string { return e.err.Error() }

// Unwrap returns the wrapped error.
func (e PartialError) Unwrap() error { return e.err }

// Partialf returns an error that ends the command with exit code 3.
func Partialf(format string, args ...any) error {
	return PartialError{fmt.Errorf(format, args...)}
}

// ExitError ends the command with its own exit code and prints nothing more: the child process has reported the
// error.
type ExitError int

// Error describes the exit code.
func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
