package toolchain

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// Code that cannot get probes is compiled as without cairn, and listed: in the summary of cairn build, or by
// cairn cc itself. A build of many files does not end at one that is for another machine.

// byHand is why assembly gets no probes.
const byHand = "assembly that neither gcc nor clang wrote"

// strict reports whether code that cannot get probes is an error. A proof that leaves out code is none, unless
// that was asked for.
func (o *ShimOptions) strict() bool { return o.Strict || o.Prove && !o.Lenient }

// leavePlain lists what a command makes without probes, or returns why that is an error.
func (f *InstrumentFlags) leavePlain(s *verb.Streams, cmd *driver.Command) error {
	made := cmd.Made()
	switch {
	case f.Shim.Strict:
		return fmt.Errorf("cc: %s", cmd.Refusal)
	case f.Shim.strict():
		return fmt.Errorf("cc: %s; or use --lenient to build it without probes", cmd.Refusal)
	case cmd.Refusal == driver.NotBare && len(cmd.Sources) == 0: // objects that may refer to the runtime
		return fmt.Errorf("cc: %s", cmd.Refusal)
	}
	for _, name := range made {
		if err := listPlain(s, name, cmd.Refusal, cmd.Object(name)); err != nil {
			return err
		}
	}
	return nil
}

// leave lists a file that another compiler makes code of, or returns why that is an error.
func (o *ShimOptions) leave(s *verb.Streams, name, why, object string) error {
	if o.strict() {
		return fmt.Errorf("%s: %s", name, why)
	}
	return listPlain(s, name, why, object)
}

// listPlain lists a file that is compiled to object without probes: in the log of the build, or, without one, as
// a note. object is "" if it is not known.
func listPlain(s *verb.Streams, name, why, object string) error {
	if os.Getenv(catch.EnvLog) == "" {
		verb.Note(s, "%s: compiled without probes: %s", name, why)
		return nil
	}
	return logUntouched(name, why, object)
}

// listAssembly lists the assembly that clang assembles itself, without our stand-in. What a compiler wrote is
// not left to it: the command then compiles.
func (f *InstrumentFlags) listAssembly(s *verb.Streams, cmd *driver.Command, check bool) error {
	if cmd.Compiles || cmd.Family != driver.Clang || check {
		return nil
	}
	var hand []string
	for _, name := range cmd.Assembly {
		src, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) || err == nil && !asm.IsCOFF(src) && !asm.IsMachO(src) {
			hand = append(hand, name)
		} else if err != nil {
			return fmt.Errorf("cc: %w", err)
		}
	}
	if len(cmd.Assembly) > len(hand) {
		cmd.Compiles = true // the stand-in lists the others
		return nil
	}
	for _, name := range hand {
		if err := f.Shim.listByHand(nil, name, cmd.Object(name)); err != nil {
			return err
		}
	}
	return nil
}

// sourceName returns the source of a compiler's output, or, if the output does not name it, the file's name.
func sourceName(src []byte, name string) string {
	return cmp.Or(sourceOfText(src, nil), name, "standard input")
}

// lineMarker is the first line of what a preprocessor made, fileNumber the name of a source in what a compiler
// made.
var (
	lineMarker = lazyregexp.New(`^# [01] "([^"\\\n]+)"`)
	fileNumber = lazyregexp.New(`(?m)^\s*\.file\s+1\s+"([^"\\\n]+)"\s*$`)
)

// listByHand lists an assembler's input that neither gcc nor clang wrote, under the name of its source: a .S
// comes from the preprocessor under another name, and another compiler's output from a temporary file. It is an error
// if that was asked for, and none for a proof alone.
func (o *ShimOptions) listByHand(src []byte, name, object string) error {
	name = handName(src, name)
	if o.Strict && !isCheck(&driver.Command{Reading: driver.Reading{Sources: []string{name}}, Output: object}) {
		return fmt.Errorf("%s: %s", name, byHand)
	}
	return logUntouched(name, byHand, object)
}

// listEmpty lists an assembler's input without code.
func listEmpty(src []byte, name, _ string) error {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil
	}
	return logEvent(buildEvent{Result: probe.Result{Source: handName(src, name)}, Empty: true})
}

// handName returns the name of the source that an assembler's input was made of.
func handName(src []byte, name string) string {
	for _, of := range []func() *regexp.Regexp{lineMarker, fileNumber} {
		if m := of().FindSubmatch(src); m != nil {
			return string(m[1])
		}
	}
	return name
}
