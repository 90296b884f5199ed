package samples

import (
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/verb"
)

// llvmFlags are options of llvm-profgen that few people give. docs/samples.md has a
// table of all its options.
type llvmFlags struct {
	offsets   bool // addresses in unsymbolized profiles are relative
	firstBase bool // to where the first segment is loaded, not the first executable one
	// debugBinary has the symbols and the debug information of a stripped binary.
	debugBinary string
	idle        []string
}

// llvmShort are llvm-profgen's short names of options.
var llvmShort = map[string]string{"pd": "perfdata", "ps": "perfscript", "up": "unsymbolized-profile"}

// llvmIdle are options that change nothing of a profile, with what to know instead.
var llvmIdle = map[string]string{
	"load-function-from-symbol":  "symbols are used wherever debug information lacks a function",
	"profile-density-cutoff-hot": "cairn info tells how few places have most of the counts",
	"profile-density-threshold":  "cairn info tells how few places have most of the counts",
	"show-density":               "cairn info tells how few places have most of the counts",
	"show-detailed-warning":      "notes always tell what was left out",
	"show-mmap-events":           "cairn samples tells what was mapped",
}

func (f *llvmFlags) register(fl *pflag.FlagSet) {
	fl.BoolVar(&f.offsets, "use-offset", true, "with --skip-symbolization or --unsymbolized-profile: addresses are relative to the first executable segment")
	fl.BoolVar(&f.firstBase, "use-first-loadable-segment-as-base", false, "with these: relative to the first segment of any kind")
	fl.StringVar(&f.debugBinary, "debug-binary", "", "the separate debug `file` of a stripped binary; where gdb finds it, it is found without this")
	for name, instead := range llvmIdle {
		fl.AddFlag(&pflag.Flag{Name: name, Usage: instead, Value: &idleFlag{f, name}, NoOptDefVal: "1", Hidden: true})
	}
	for short, long := range llvmShort {
		fl.AddFlag(&pflag.Flag{Name: short, Usage: fl.Lookup(long).Usage, Value: fl.Lookup(long).Value, Hidden: true})
	}
}

// idleFlag is a flag that is taken, and remembered.
type idleFlag struct {
	f    *llvmFlags
	name string
}

func (i *idleFlag) String() string { return "" }

func (i *idleFlag) Type() string { return "" }

func (i *idleFlag) Set(string) error {
	i.f.idle = append(i.f.idle, i.name)
	return nil
}

// tell says of options that do nothing that they do not.
func (f *llvmFlags) tell(s *verb.Streams) {
	for _, name := range f.idle {
		verb.Note(s, "--%s does nothing here: %s", name, llvmIdle[name])
	}
}
