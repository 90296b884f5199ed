package profile

import (
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/output/graphfile"
)

// RegisterGraph adds the flags.
func RegisterGraph(flags *pflag.FlagSet, f *graphfile.OfProfile) {
	registerIn(flags, &f.Choice)
	flags.BoolVar(&f.External, "external", false, "of a profile: include functions outside it, such as those of the C library")
}
