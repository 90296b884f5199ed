package toolchain

import (
	"fmt"
	"os"
	"slices"

	"github.com/cairnprof/cairn/internal/verb"
)

// The go command identifies C objects by the compiler's version: the first line with the word version and a
// number in the output of "gcc -### -x c -c -". Our objects must not be used in builds with other flags, nor
// theirs in ours, so we print such a line before the compiler's. It includes the compiler's key, as the
// compiler's own line is then ignored.

// AsksIdentity reports whether a driver's arguments are that request.
func AsksIdentity(args []string) bool {
	return len(args) == 5 && args[0] == "-###" && slices.Equal(args[3:], []string{"-c", "-"}) && args[1] == "-x"
}

// printIdentity answers for a compiler with our flags.
func (f *InstrumentFlags) printIdentity(s *verb.Streams, c Compiler) error {
	self, err := ourPath()
	if err != nil {
		return err
	}
	key, err := toolchainKey(self, c, f.Shim)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "cairn version 1 %s\n", key)
	return nil
}

// TellOwnIdentity answers if CC is "cairn cc gcc": the go command runs its first word for the request. The
// remaining words are part of the key by which the go command identifies objects.
func TellOwnIdentity(s verb.Streams) error {
	self, err := ourPath()
	if err != nil {
		return err
	}
	info, err := os.Stat(self)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "cairn version 1 %s %d %d\n", self, info.Size(), info.ModTime().UnixNano())
	return nil
}
