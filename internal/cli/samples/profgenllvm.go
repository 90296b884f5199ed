package samples

import (
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/verb"
)

// llvmFlags are rarely used options of llvm-profgen. docs/profgen-reference.md has a table of all its
// options.
type llvmFlags struct {
	like      bool // all defaults are those of llvm-profgen
	offsets   bool // addresses in unsymbolized profiles are relative
	firstBase bool // to where the first segment is loaded, not the first executable one
	// debugBinary has the symbols and the debug information of a stripped binary.
	debugBinary string
	dwp         string // has its split debug information
	from        string // the profile that takes the place of samples
	fillZero    bool   // functions that did not run have counts of 0
	idle        []string
	dumps       []string
}

// llvmShort are llvm-profgen's short names of options.
var llvmShort = map[string]string{"pd": "perfdata", "ps": "perfscript", "up": "unsymbolized-profile"}

// llvmIdle are options that do not affect a profile, with an explanation.
var llvmIdle = map[string]string{
	"load-function-from-symbol": "symbols are used wherever debug information lacks a function",
	"show-detailed-warning":     "notes always tell what was left out",
}

// llvmDumps are options that print something else instead of a profile, with the corresponding
// command.
var llvmDumps = map[string]string{
	"data-access-perftrace": "samples of memory accesses are not read",
	"kernel":                "addresses of the kernel are left out",
}

const (
	llvmDefaultsFlag = "llvm-defaults"
	llvmProfileFlag  = "llvm-sample-profile"
)

func (f *llvmFlags) register(fl *pflag.FlagSet) {
	fl.BoolVar(&f.like, llvmDefaultsFlag, false, "use the defaults of llvm-profgen for other options: its pre-inliner, its inference of missing frames, extbinary")
	fl.BoolVar(&f.offsets, "use-offset", true, "with --skip-symbolization or --unsymbolized-profile: addresses are relative to the first executable segment")
	fl.BoolVar(&f.firstBase, "use-first-loadable-segment-as-base", false, "with --use-offset: relative to the first loadable segment, executable or not")
	fl.StringVar(&f.debugBinary, "debug-binary", "", "the separate debug `file` of a stripped binary; not needed if gdb would find it")
	fl.StringVar(&f.dwp, "dwp", "", "the `package` (.dwp) of the binary's split debug information; not needed if it is BINARY.dwp, or if the .dwo files are where the compiler wrote them")
	fl.StringVar(&f.from, llvmProfileFlag, "", "read this `profile` instead of samples, to merge, trim, nest or pre-inline its contexts")
	fl.BoolVar(&f.fillZero, "fill-zero-for-all-funcs", false, "by lines, without contexts: include functions that did not run, with counts of 0")
	for name, instead := range llvmIdle {
		fl.AddFlag(&pflag.Flag{Name: name, Usage: instead, Value: &llvmFlag{&f.idle, name}, NoOptDefVal: "1", Hidden: true})
	}
	for name, instead := range llvmDumps {
		fl.AddFlag(&pflag.Flag{Name: name, Usage: instead, Value: &llvmFlag{&f.dumps, name}, NoOptDefVal: "1", Hidden: true})
	}
	for short, long := range llvmShort {
		fl.AddFlag(&pflag.Flag{Name: short, Usage: fl.Lookup(long).Usage, Value: fl.Lookup(long).Value, Hidden: true})
	}
}

// llvmFlag is a flag that records whether it is set.
type llvmFlag struct {
	given *[]string
	name  string
}

func (i *llvmFlag) String() string { return "" }
func (i *llvmFlag) Type() string   { return "" }

func (i *llvmFlag) Set(value string) error {
	if value != "0" && value != "false" {
		*i.given = append(*i.given, i.name)
	}
	return nil
}

// note prints notes about options without effect. Those that another command replaces are an
// error.
func (f *llvmFlags) note(s *verb.Streams) error {
	for _, name := range f.idle {
		verb.Note(s, "--%s is ignored: %s", name, llvmIdle[name])
	}
	if len(f.dumps) > 0 {
		return verb.Usagef("--%s is not supported: %s", f.dumps[0], llvmDumps[f.dumps[0]])
	}
	return nil
}

// likeLLVM sets the defaults of llvm-profgen for flags that were not given.
func (f *profgenFlags) likeLLVM(given func(name string) bool) {
	if !f.like {
		return
	}
	if !given("format") {
		f.format = formatExtBinary
		if f.onlyCount {
			f.format = formatText
		}
	}
	if !given("infer-missing-frames") || f.infer == string(pipeline.InferFull) {
		f.infer = string(pipeline.InferLLVM)
	}
	f.keepTailJumps, f.quiet = true, true
	compiled := f.product() == pipeline.Profile && !f.onlyCount && !f.explained
	if compiled && !given(preinlineFlag) {
		f.preinline = true
	}
	if compiled && !given("csprof-merge-cold-context") {
		f.mergeCold = !f.preinline
	}
	if compiled && !given("gen-cs-nested-profile") {
		f.nested = true
	}
}

// thresholds are the flags that define which counts are hot and which are cold.
type thresholds struct {
	profgen.Thresholds

	hot, cold uint64
}

func (f *thresholds) register(fl *pflag.FlagSet) {
	fl.Uint64Var(&f.HotCutoff, "profile-summary-cutoff-hot", profgen.HotCutoff, "counts that are hot make this `share` of all, in millionths")
	fl.Uint64Var(&f.ColdCutoff, "profile-summary-cutoff-cold", profgen.ColdCutoff, "counts that are not cold make this `share` of all, in millionths")
	fl.Uint64Var(&f.hot, "profile-summary-hot-count", 0, "in place of that: `counts` from this on are hot")
	fl.Uint64Var(&f.cold, "profile-summary-cold-count", 0, "in place of that: `counts` below this are cold")
	for _, name := range []string{"profile-summary-cutoff-hot", "profile-summary-cutoff-cold", "profile-summary-hot-count", "profile-summary-cold-count"} {
		// They are for tuning LLVM, and have LLVM's names.
		fl.Lookup(name).Hidden = true
	}
}

// set records the flags that were given.
func (f *thresholds) set(given func(name string) bool) error {
	if given("profile-summary-hot-count") {
		f.Hot = &f.hot
	}
	if given("profile-summary-cold-count") {
		f.Cold = &f.cold
	}
	for name, share := range map[string]uint64{"hot": f.HotCutoff, "cold": f.ColdCutoff} {
		if share < 1 || share > profgen.ColdCutoff {
			return verb.Usagef("--profile-summary-cutoff-%s %d: must be from 1 to %d, in millionths", name, share, profgen.ColdCutoff)
		}
	}
	return nil
}

// AsLLVMProfgen returns the arguments for cairn if it was started under the name llvm-profgen,
// with or without a version suffix. LLVM's tools also accept long names with one dash.
func AsLLVMProfgen(args []string) ([]string, bool) {
	if len(args) == 0 || !strings.HasPrefix(filepath.Base(args[0]), "llvm-profgen") {
		return args, false
	}
	out := []string{args[0], "profgen", "--" + llvmDefaultsFlag}
	for _, a := range args[1:] {
		if name, _, _ := strings.Cut(a, "="); len(name) > 2 && name[0] == '-' && name[1] != '-' {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out, true
}
