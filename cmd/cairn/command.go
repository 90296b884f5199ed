package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/binary/debuginfod"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/cli/gocmd"
	"github.com/cairnprof/cairn/internal/cli/samples"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// execute runs the command line args (args[0] is the program's name) and returns
// the exit code.
func execute(ctx context.Context, args []string, s verb.Streams) int {
	if sh, ok := toolchain.AsShim(args, s); ok {
		return exitCode(sh.Run(ctx, args[1:]), s.Err)
	}
	if run, ok := toolchain.AsLTO(args, s); ok {
		return exitCode(run(ctx, args[1:]), s.Err)
	}
	if w, ok := toolchain.AsWrapper(args); ok {
		return exitCode(w.Run(ctx, &s, args[1:]), s.Err)
	}
	if run, ok := gocmd.AsToolexec(args, s); ok {
		return exitCode(run(ctx), s.Err)
	}
	args, _ = samples.AsLLVMProfgen(args)
	if toolchain.AsksIdentity(args[1:]) {
		return exitCode(toolchain.TellOwnIdentity(s), s.Err)
	}
	servers := debuginfod.FromEnvironment(os.Getenv)
	servers.Started = func(url string) { verb.Note(&s, "requesting %s", url) }
	objfile.SetDebuginfod(servers)
	objfile.SetKept(toolchain.KeptMaps)
	root := rootFor(&s, args[1:])
	root.SetArgs(args[1:])
	return exitCode(root.ExecuteContext(ctx), s.Err)
}

// rootFor returns a root that has the command that args begin with. If they begin with something
// else it has all commands.
func rootFor(s *verb.Streams, args []string) *cobra.Command {
	for _, g := range groups {
		i := slices.IndexFunc(g.commands, func(c command) bool { return len(args) > 0 && c.name == args[0] })
		if i >= 0 {
			root := bareRoot(s)
			g.commands = g.commands[i : i+1]
			g.add(root, s)
			return root
		}
	}
	return newRoot(s)
}

// newRoot returns a root with all commands.
func newRoot(s *verb.Streams) *cobra.Command {
	root := bareRoot(s)
	for _, g := range groups {
		g.add(root, s)
	}
	return root
}

func (g group) add(root *cobra.Command, s *verb.Streams) {
	if g.id != "" {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	for _, c := range g.commands {
		cmd := c.make(s)
		cmd.GroupID = g.id
		if why := notHere(c.name); why != nil {
			refuse(cmd, why)
			cmd.RemoveCommand(cmd.Commands()...)
		}
		for _, sub := range cmd.Commands() {
			if why := notHere(c.name + " " + sub.Name()); why != nil {
				refuse(sub, why)
			}
		}
		root.AddCommand(cmd)
	}
}

// refuse makes a command answer with an error.
func refuse(c *cobra.Command, why error) {
	c.DisableFlagParsing, c.Args, c.RunE = true, nil, func(*cobra.Command, []string) error { return why }
}

// onlyElsewhere are the commands that do not run on Windows: that which wraps the functions of libraries
// of ELF, those that trace processes, and the server, of which it is not known what survives a loss of power.
var onlyElsewhere = map[string]string{
	"wrap":    "it wraps functions of ELF libraries, on Linux",
	"collect": "it runs on Linux and macOS; cairn push sends files from here to it",
	"record":  elsewhereWatched, "spike": elsewhereWatched, "watch attach": elsewhereWatched, "watch detach": elsewhereWatched,
}

const (
	elsewhereWatched = "it runs on Linux, and watches programs there"
)

// notHere returns the error of a command that does not run on this system, or nil.
func notHere(name string) error {
	if why := onlyElsewhere[name]; runtime.GOOS == "windows" && why != "" {
		return fmt.Errorf("%s does not run on Windows: %s", name, why)
	}
	return nil
}

// bareRoot returns a root without commands but help.
func bareRoot(s *verb.Streams) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "cairn",
		Short: "Exact, function-level profiling that is cheap enough to ship",
		Example: `  cairn build --mode full -- make            build with probes
  cairn run -- ./app                         run it, and write what it did to report.html
  CAIRN_DIR=raws ./app                       or run it, any number of times,
  cairn merge -o app.mip app raws            and merge what the runs recorded into a profile
  cairn build --use app.mip -- make -B       rebuild, laid out by a profile`,
		SilenceErrors: true,
		SilenceUsage:  true,

		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return verb.UnknownCommand(c, args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return verb.BuildVersion(debug.ReadBuildInfo()).Write(s.Out)
			}
			return c.Help()
		},
		CompletionOptions: cobra.CompletionOptions{
			HiddenDefaultCmd: true,
		},
	}
	// Cobra's own --version is not used: its template, if reachable, prevents the linker from
	// removing unused methods.
	root.Flags().BoolVarP(&version, "version", "v", false, "print version information")
	root.PersistentFlags().BoolVar(&s.Quiet, "quiet", false, "print no summaries, notes or progress on standard error")
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(verb.FlagError)
	root.SetHelpCommand(newHelpCmd(root))
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { help(c, false) })
	return root
}

// newHelpCmd returns cobra's help command, except that unknown command names are errors.
func newHelpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				if c == nil {
					c = root
				}
				return verb.UnknownCommand(c, append(rest, args...)[0])
			}
			help(c, true)
			return nil
		},
	}
}

// help prints the help of a command; see verb.Help. That of cairn itself has the commands for every day and names the
// others; if it is full, it describes all by task.
func help(c *cobra.Command, full bool) {
	w := c.OutOrStdout()
	switch {
	case c.HasParent():
		verb.Help(w, c, full)
	case full:
		verb.RootHelp(w, c, nil)
	default:
		verb.RootHelp(w, c, everyday)
	}
}

// exitCode prints err as one line and returns its exit code.
func exitCode(err error, w io.Writer) int {
	if err == nil {
		return verb.ExitOK
	}
	var exit verb.ExitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "cairn: interrupted")
		return verb.ExitInterrupted
	}
	fmt.Fprintf(w, "cairn: %v%s\n", err, temporary(err))
	var usage verb.UsageError
	if errors.As(err, &usage) {
		return verb.ExitUsage
	}
	var partial verb.PartialError
	if errors.As(err, &partial) {
		return verb.ExitPartial
	}
	return verb.ExitFail
}

// temporary returns a remedy if err is that a temporary file of cairn cannot be made, of whose directory nobody has heard.
func temporary(err error) string {
	var file *fs.PathError
	if !errors.As(err, &file) {
		return ""
	}
	if errors.Is(err, fs.ErrNotExist) { // one that was named is in a directory that exists
		if _, err := os.Stat(os.TempDir()); err == nil {
			return ""
		}
	}
	if filepath.Dir(file.Path) == filepath.Clean(os.TempDir()) && strings.HasPrefix(filepath.Base(file.Path), "cairn-") {
		return " (TMPDIR names another directory for temporary files)"
	}
	return ""
}

// standsIn reports whether args are those of a tool that cairn was started in place of, rather
// than a command line of cairn.
func standsIn(args []string) bool {
	_, shim := toolchain.AsShim(args, verb.Streams{})
	_, lto := toolchain.AsLTO(args, verb.Streams{})
	_, wrapper := toolchain.AsWrapper(args)
	_, toolexec := gocmd.AsToolexec(args, verb.Streams{})
	return shim || lto || wrapper || toolexec
}
