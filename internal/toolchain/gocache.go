package toolchain

import (
	"fmt"
	"os"
	"slices"

	"github.com/cairnprof/cairn/internal/verb"
)

// The go command keeps objects of C by what the compiler says it is: the first line with
// the word version and a number that "gcc -### -x c -c -" prints. What we have compiled is
// not for builds with other flags, and what they have compiled is not for us, so we print
// such a line in front of the compiler's. It has the key of the compiler as well: the
// compiler's own line is not looked at then.

// AsksIdentity reports whether a driver's arguments are those of that question.
func AsksIdentity(args []string) bool {
	return len(args) == 5 && args[0] == "-###" && slices.Equal(args[3:], []string{"-c", "-"}) && args[1] == "-x"
}

// tellIdentity answers for a compiler with our flags.
func (f *InstrumentFlags) tellIdentity(s *verb.Streams, c Compiler) error {
	self, err := os.Executable()
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

// TellOwnIdentity answers where CC is "cairn cc gcc": the first word of it is asked. The
// rest of it belongs to what the go command knows objects by.
func TellOwnIdentity(s verb.Streams) error {
	self, err := os.Executable()
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
