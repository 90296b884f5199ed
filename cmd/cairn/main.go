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
// The table below has the verbs of each step. A verb is a file of internal/cli/STEP, with
// its help and its flags. What most of them write is a package of internal/output;
// docs/architecture.md describes those that do the work.
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
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// group is a group of commands by task. Without a title they are cobra's "additional" ones.
type group struct {
	id, title string
	commands  []command
}

// command has its name beside it, so that a command line makes no command but its own: the
// flags of all of them take a tenth of the start of cairn.
type command struct {
	name string
	make func(*verb.Streams) *cobra.Command
}

// everyday are the commands that the help of cairn describes first, in the order of a first hour.
var everyday = []string{"build", "go", "run", "report", "covered", "spikes", "stacks", "order"}

// groups is in the order in which a newcomer needs them.
var groups = []group{
	{"build", "Build with probes or by a profile:", []command{
		{"cc", build.CC},
		{"build", build.Build},
		{"go", gocmd.Go},
		{"wrap", build.Wrap},
		{"header", build.Header},
		{"hooks", build.Hooks},
	}},
	{"collect", "Collect raw files into profiles:", []command{
		{"map", profile.Map},
		{"create", profile.Create},
		{"merge", profile.Merge},
		{"pack", profile.Pack},
		{"unpack", profile.Unpack},
		{"import", profile.Import},
		{"collect", collect.Collect},
		{"push", collect.Push},
	}},
	{"look", "Inspect profiles:", []command{
		{"run", report.Run},
		{"report", report.Report},
		{"serve", report.Serve},
		{"info", info.Info},
		{"show", profile.Show},
		{"covered", profile.Covered},
		{"diff", diff.Diff},
		{"callgraph", callgraph.Callgraph},
		{"pages", layout.Pages},
		{"yaml", profile.YAML},
	}},
	{"logs", "Inspect logs of calls and spikes:", []command{
		{"stacks", calls.Stacks},
		{"query", calls.Query},
		{"account", calls.Account},
		{"graph", callgraph.Graph},
		{"flame", flame.Flame},
		{"replay", calls.Replay},
		{"convert", calls.Convert},
		{"dump", calls.Dump},
		{"spikes", spikes.Spikes},
		{"watch", spikes.Watch},
		{"spike", spikes.Spike},
	}},
	{"sample", "Record and analyse samples:", []command{
		{"record", samples.Record},
		{"samples", samples.Samples},
		{"profgen", samples.Profgen},
	}},
	{"use", "Write input for linkers, compilers and other tools:", []command{
		{"order", layout.Order},
		{"export", layout.Export},
	}},
	{"", "", []command{
		{"version", newVersionCmd},
	}},
}

func main() {
	os.Exit(run(toolchain.CalledAs(os.Args), verb.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
