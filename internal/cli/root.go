// Package cli is the command line: one file per verb, each of which opens the
// files, joins the pieces and prints. It holds no algorithms.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/binary/debuginfod"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Streams are the three standard streams of a command.
type Streams struct {
	In  io.Reader
	Out io.Writer // data
	Err io.Writer // talk
}

// Exit codes, as the help text states them.
const (
	exitOK    = 0
	exitFail  = 1 // the command failed, or a --strict or --check gate did
	exitUsage = 2 // the command line makes no sense

	exitInterrupted = 128 + 2 // as shells have it for SIGINT
)

// usageError marks an error of the command line itself.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef returns an error that ends the command with exit code 2.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitError ends the command with a code of its own and prints nothing more:
// the child that a wrapper ran has spoken already.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// verbs lists the commands by what one does with them, in the order in which a
// newcomer does it. The last have no title: they are cobra's "additional" ones.
var verbs = []struct {
	id, title string
	commands  []func(*Streams) *cobra.Command
}{
	{"build", "Build, with probes or by a profile:", []func(*Streams) *cobra.Command{newCCCmd, newBuildCmd, newWrapCmd, newHeaderCmd}},
	{"collect", "Collect what runs left behind:", []func(*Streams) *cobra.Command{
		newMapCmd, newCreateCmd, newMergeCmd, newPackCmd, newUnpackCmd, newImportCmd,
	}},
	{"look", "Look:", []func(*Streams) *cobra.Command{
		newInfoCmd, newShowCmd, newCoveredCmd, newDiffCmd, newCallgraphCmd, newPagesCmd, newYAMLCmd,
	}},
	{"trace", "Look at logs of calls:", []func(*Streams) *cobra.Command{newStacksCmd, newQueryCmd, newAccountCmd, newGraphCmd, newFlameCmd, newReplayCmd, newConvertCmd, newDumpCmd, newSpikesCmd, newSpikeCmd}},
	{"sample", "Sample, and put back the frames that are missing:", []func(*Streams) *cobra.Command{newRecordCmd, newSamplesCmd, newProfgenCmd}},
	{"use", "Hand on to linkers, compilers and other tools:", []func(*Streams) *cobra.Command{newOrderCmd, newExportCmd}},
	{"", "", []func(*Streams) *cobra.Command{newVersionCmd}},
}

// Main runs the command line args (args[0] is the program's name) and returns
// the exit code.
func Main(ctx context.Context, args []string, s Streams) int {
	if sh, ok := asShim(args, s); ok {
		return exitCode(sh.run(ctx, args[1:]), s.Err)
	}
	if w, ok := asWrapper(args); ok {
		return exitCode(w.run(ctx, &s, args[1:]), s.Err)
	}
	if asksIdentity(args[1:]) {
		return exitCode(tellOwnIdentity(s), s.Err)
	}
	servers := debuginfod.FromEnvironment(os.Getenv)
	servers.Started = func(url string) { note(&s, "asking for %s", url) }
	objfile.SetDebuginfod(servers)
	root := newRoot(&s)
	root.SetArgs(args[1:])
	return exitCode(root.ExecuteContext(ctx), s.Err)
}

func newRoot(s *Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "cairn",
		Short: "Exact, function-level profiling that is cheap enough to ship",
		Example: `  cairn build --mode full -- make            build with probes
  CAIRN_DIR=raws ./app                       run, as often as you like
  cairn merge -o app.mip app raws            collect
  cairn show -p app.mip --sort calls         look
  cairn build --use app.mip -- make -B       build by what ran`,
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if like := c.SuggestionsFor(args[0]); len(like) > 0 {
				return usagef("unknown command %q; did you mean %s?", args[0], like[0])
			}
			return usagef("unknown command %q (see cairn -h)", args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		CompletionOptions: cobra.CompletionOptions{
			HiddenDefaultCmd: true,
		},
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w (see %s -h)", err, c.CommandPath())
	})
	for _, group := range verbs {
		if group.id != "" {
			root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		}
		for _, verb := range group.commands {
			c := verb(s)
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	return root
}

// exitCode prints err as one line and turns it into an exit code.
func exitCode(err error, w io.Writer) int {
	if err == nil {
		return exitOK
	}
	var exit exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "cairn: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(w, "cairn: %v\n", err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFail
}

// StandsIn reports whether args are those of a tool that cairn was started in
// the place of, rather than a command line of its own.
func StandsIn(args []string) bool {
	_, shim := asShim(args, Streams{})
	_, wrapper := asWrapper(args)
	return shim || wrapper
}
