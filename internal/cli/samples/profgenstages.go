package samples

import "github.com/spf13/pflag"

// profgenStages are the steps between counting and writing a profile.
type profgenStages struct {
	preinlineFlags
	thresholds
	nested    bool
	mergeCold bool
	trimCold  bool
	coldDepth int
	recount   bool // totals

	hashNames, listSymbols bool
	quiet                  bool // about steps that were not requested
}

func (f *profgenStages) register(fl *pflag.FlagSet) {
	f.preinlineFlags.register(fl)
	f.thresholds.register(fl)
	fl.BoolVar(&f.hashNames, "use-md5", false, "with --format extbinary: write MD5 hashes instead of names")
	fl.BoolVar(&f.listSymbols, "populate-profile-symbol-list", false, "with --format extbinary: list the functions of the binaries, so that compilers know which never ran")
	fl.BoolVar(&f.nested, "gen-cs-nested-profile", false, "nest contexts in their callers, as if calls had been inlined")
	fl.BoolVar(&f.mergeCold, "csprof-merge-cold-context", false, "merge contexts with few samples into their function's own profile")
	fl.IntVar(&f.coldDepth, "csprof-max-cold-context-depth", 1, "with --csprof-merge-cold-context: keep the innermost `n` functions, of which 1 is the function itself")
	fl.BoolVar(&f.trimCold, "trim-cold-profile", false, "omit contexts with few samples, or functions if the profile has no contexts")
	fl.BoolVar(&f.recount, "update-total-samples", false, "by lines: the total of a function is the sum of its counts, not of the executions of its instructions")
}
