// Command cairn instruments native programs at the level of their machine code, collects the
// data that they record, and converts it to coverage, counts, link orders, call stacks with
// their time, spikes, and profiles for compilers.
//
// Data flows in one direction, and at the end back into a build:
//
//	build    compilers' assembly -> probes and a map     instrument, runtime in the program
//	collect  raw files of runs -> profile (.mip)         format/mip, profile
//	look     profile -> coverage, counts, call graph     profile, layout
//	calls    logs of calls -> stacks, times, spikes      format/xray, format/tracelog, calls, spikes
//	sample   samples -> restored stacks -> profile       watch, samples
//	use      profile -> orders, builds by a profile      layout, export, instrument
//
// The table below has the verbs of each step. A verb is a file of internal/cli/STEP, which
// reads flags, opens files, and calls the packages in internal that do the work;
// docs/architecture.md describes them.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/cli/build"
	"github.com/cairnprof/cairn/internal/cli/callgraph"
	"github.com/cairnprof/cairn/internal/cli/calls"
	"github.com/cairnprof/cairn/internal/cli/collect"
	"github.com/cairnprof/cairn/internal/cli/diff"
	"github.com/cairnprof/cairn/internal/cli/flame"
	"github.com/cairnprof/cairn/internal/cli/gocmd"
	"github.com/cairnprof/cairn/internal/cli/info"
	"github.com/cairnprof/cairn/internal/cli/layout"
	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/cli/report"
	"github.com/cairnprof/cairn/internal/cli/samples"
	"github.com/cairnprof/cairn/internal/cli/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// group is a group of commands by task. Without a title they are cobra's "additional" ones.
type group struct {
	id, title string
	commands  []func(*verb.Streams) *cobra.Command
}

// commands lists the groups in the order in which a newcomer needs them.
var commands = []group{
	{"build", "Build with probes or by a profile:", []func(*verb.Streams) *cobra.Command{
		build.CC, build.Build, gocmd.Go, build.Wrap, build.Header,
	}},
	{"collect", "Collect raw files into profiles:", []func(*verb.Streams) *cobra.Command{
		profile.Map, profile.Create, profile.Merge, profile.Pack, profile.Unpack, profile.Import,
		collect.Collect, collect.Push,
	}},
	{"look", "Inspect profiles:", []func(*verb.Streams) *cobra.Command{
		report.Report, report.Serve, info.Info, profile.Show, profile.Covered, diff.Diff, callgraph.Callgraph, layout.Pages, profile.YAML,
	}},
	{"logs", "Inspect logs of calls and spikes:", []func(*verb.Streams) *cobra.Command{
		calls.Stacks, calls.Query, calls.Account, callgraph.Graph, flame.Flame, calls.Replay, calls.Convert, calls.Dump,
		spikes.Spikes, spikes.Watch, spikes.Spike,
	}},
	{"sample", "Record and analyse samples:", []func(*verb.Streams) *cobra.Command{
		samples.Record, samples.Samples, samples.Profgen,
	}},
	{"use", "Write input for linkers, compilers and other tools:", []func(*verb.Streams) *cobra.Command{
		layout.Order, layout.Export,
	}},
	{"", "", []func(*verb.Streams) *cobra.Command{newVersionCmd}},
}

func main() {
	os.Exit(run(os.Args, verb.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
