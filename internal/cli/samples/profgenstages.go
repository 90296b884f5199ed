package samples

import (
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/verb"
)

// profgenStages are what is done with a profile before it is written.
type profgenStages struct {
	fs bool // the discriminators of the binaries are flow-sensitive
	preinlineFlags
	thresholds
	nested    bool
	mergeCold bool
	trimCold  bool
	coldDepth int
	recount   bool // totals

	hashNames, listSymbols bool
	quiet                  bool     // about stages that were not asked for
	symbols                []string // of the binaries, if they are to be listed
}

func (f *profgenStages) register(fl *pflag.FlagSet) {
	f.preinlineFlags.register(fl)
	f.thresholds.register(fl)
	fl.BoolVar(&f.hashNames, "use-md5", false, "with --format extbinary: write the MD5 of names in their place")
	fl.BoolVar(&f.listSymbols, "populate-profile-symbol-list", false, "with --format extbinary: list the functions of the binaries, so that compilers can tell which never ran")
	fl.BoolVar(&f.nested, "gen-cs-nested-profile", false, "nest contexts in their callers, as if calls had been inlined")
	fl.BoolVar(&f.mergeCold, "csprof-merge-cold-context", false, "merge contexts with few samples into their function's own profile")
	fl.IntVar(&f.coldDepth, "csprof-max-cold-context-depth", 1, "with --csprof-merge-cold-context: keep the innermost `n` functions, of which 1 is the function itself")
	fl.BoolVar(&f.trimCold, "trim-cold-profile", false, "leave out contexts, or functions without contexts, that have few samples")
	fl.BoolVar(&f.recount, "update-total-samples", false, "by lines: make the total of a function the sum of its counts, not of what its instructions ran")
}

func (f *profgenStages) check() error {
	if f.coldDepth < 1 {
		return verb.Usagef("--csprof-max-cold-context-depth %d: it is 1 or more", f.coldDepth)
	}
	return nil
}

// errNoFunction: compilers do not read profiles of nothing.
var errNoFunction = errors.New("no function has counts: did other binaries run, or this code at other places?")

// write returns what writes a profile in a form. It takes the profile over.
func (f *profgenStages) write(s *verb.Streams, p *sampleprof.File, form string) func(io.Writer) error {
	if !p.HasContexts && (f.preinline || f.mergeCold || f.nested) && !f.quiet {
		verb.Note(s, "the profile has no contexts: there is nothing to inline, to nest or to merge")
	}
	if p.HasContexts {
		f.cutContexts(s, p)
	} else if f.trimCold {
		functions := p.Profile()
		cut := profgen.Cold{Trim: true, Thresholds: f.Thresholds}.Functions(functions)
		verb.Note(s, "cold are functions with a total below %s: %s of %s left out",
			report.Count(cut.Threshold), report.Count(cut.Before-cut.After), report.Count(cut.Before))
		p.SetProfile(functions)
	}
	if len(p.Contexts) == 0 {
		return func(io.Writer) error { return errNoFunction }
	}
	if form == formatExtBinary {
		p.HashNames, p.Symbols = f.hashNames, f.symbols
		return p.WriteExtBinary
	}
	return p.Write
}

// cutContexts does to contexts what the flags ask for.
func (f *profgenStages) cutContexts(s *verb.Streams, p *sampleprof.File) {
	if f.mergeCold || f.trimCold {
		var cut profgen.Cut
		p.Contexts, cut = profgen.Cold{
			Merge: f.mergeCold, Depth: f.coldDepth, Trim: f.trimCold, Own: f.preinline, Summary: f.before, Thresholds: f.Thresholds,
		}.Contexts(p.Contexts)
		verb.Note(s, "cold are contexts with a total below %s: of %s there are %s left",
			report.Count(cut.Threshold), report.Plural(cut.Before, "context"), report.Count(cut.After))
	}
	if f.nested {
		p.SetProfile(profgen.Nest(p.Contexts))
		return
	}
	p.Contexts = profgen.Unambiguous(p.Contexts)
}

// writeFlat returns what writes a profile without contexts in a form.
func (f *profgenStages) writeFlat(s *verb.Streams, p sampleprof.Profile, form string) func(io.Writer) error {
	file := sampleprof.File{FS: f.fs}
	file.SetProfile(p)
	if f.recount {
		for _, c := range file.Contexts {
			c.Samples.RecountTotal()
		}
	}
	return f.write(s, &file, form)
}

// writeContexts returns what writes a profile with contexts in a form.
func (f *profgenStages) writeContexts(s *verb.Streams, list []sampleprof.Context, form string) func(io.Writer) error {
	return f.write(s, &sampleprof.File{Contexts: list, HasContexts: true, FS: f.fs, PreInlined: f.preinline}, form)
}
