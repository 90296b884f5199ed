package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/wrap"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// wrapFlags are the flags of cairn wrap.
type wrapFlags struct {
	from       []string
	prototypes []string
	out        string
	threshold  string
	defaultDir string
	force      bool
}

// Wrap returns the command cairn wrap.
func Wrap(s *verb.Streams) *cobra.Command {
	var f wrapFlags
	c := &cobra.Command{
		Use:   "wrap NAME[,NAME...] [flags] -o wrap.c | wrap NAME[,NAME...] [flags] -- COMPILER ARGS...",
		Short: "Time functions that cannot be recompiled",
		Long: `wrap generates a wrapper for each named function and makes the linker redirect calls
to it (--wrap). The wrapper times calls as code built with cairn cc --mode spike
does, but the function itself is not recompiled. With a command after --, wrap runs
that link with the wrappers added; -o writes the source of the wrappers.

A wrapper is a C function if the parameter types are known: from --prototype, from
the debug information of the --from files or of the objects of the link, or because
cairn knows the function from the C library. If the types are not known, or C cannot
forward the parameters (a variable number of them), the wrapper replaces the return
address while the function runs, and touches nothing else. Where shadow stacks (CET)
are enabled, such calls are not timed.

NAME may be a C++ function as written in source, with its parameters if several
functions have that name. If there is no link to look it up in, give the mangled name.

Not every call can be redirected, and linkers do not report which are not. wrap
examines the objects of the link and reports: calls within the object that defines
the function (only lld redirects those), functions that gcc -flto already resolved,
static functions, other names of the function, calls within shared libraries. It
fails if no call at all would be redirected. Calls that the compiler inlined cannot
be seen in the objects and are not reported.

The program writes a log as in mode spike: see cairn spikes.`,
		Example: `  cairn wrap malloc,free -- gcc -o app main.o util.o
  cairn wrap deflate --from libz.so.debug -- gcc -o app main.o -lz
  cairn wrap 'store::put(int)' -- g++ -o app main.o store.o
  cairn wrap frob --prototype 'int frob(const char *, size_t)' -o wrap.c`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verb.Usagef("wrap: no function given; use: cairn wrap malloc,free -- gcc -o app main.o")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			at := c.ArgsLenAtDash()
			if at < 0 {
				at = len(args)
			}
			return f.run(c.Context(), s, args[:at], args[at:])
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.from, "from", nil, "take types from the debug information of this `file`: an object, archive, library or program; repeatable")
	fl.StringArrayVar(&f.prototypes, "prototype", nil, "prototype of a function to wrap, such as `'void *malloc(size_t)'`; repeatable")
	fl.StringVarP(&f.out, "output", "o", "", "write the wrappers to this `file`; - for standard output")
	fl.StringVar(&f.threshold, "threshold", "", "report calls that take longer, such as `5ms`; the environment overrides it")
	fl.StringVar(&f.defaultDir, "default-dir", ".", "directory for the log if CAIRN_DIR is not set; none for no log")
	fl.BoolVar(&f.force, "force", false, "link even if no call would be redirected to a wrapper")
	return c
}

func (f *wrapFlags) run(ctx context.Context, s *verb.Streams, lists, command []string) error {
	var names []string
	for _, l := range lists {
		more, err := wrap.SplitNames(l)
		if err != nil {
			return verb.Usagef("wrap: %w", err)
		}
		names = append(names, more...)
	}
	if len(names) == 0 {
		return verb.Usagef("wrap: no function given; use: cairn wrap malloc,free -- gcc -o app main.o")
	}
	if f.out == "" && len(command) == 0 {
		return verb.Usagef("wrap: give the link command after --, or write the wrappers with -o wrap.c")
	}
	var link *wrapLink
	if len(command) > 0 {
		var err error
		if link, err = newWrapLink(ctx, command); err != nil {
			return err
		}
	}
	functions, err := f.functions(s, names, link)
	if err != nil {
		return err
	}
	var exported []string
	if link != nil {
		if err := link.check(functions); err != nil {
			return err
		}
		exported = link.view.Exported(namesOf(functions))
	}
	options := wrap.LinkOptions(functions, exported)
	var kind wrap.Kind
	if link != nil {
		kind = wrap.Kind{Shared: link.view.Shared, Static: link.cmd.Static}
	}
	text := []byte(wrap.Text(functions, options, kind))
	if f.out != "" {
		if err := verb.WriteBytes(s, f.out, text); err != nil || link == nil {
			return err
		}
	}
	return f.link(ctx, s, link, text, options)
}

func namesOf(functions []*wrap.Function) []string {
	out := make([]string, len(functions))
	for i, fn := range functions {
		out[i] = fn.Name
	}
	return out
}

// reportUnseen prints which calls the wrappers of a function cannot see. It removes those of its
// names that nothing calls, and fails if none is left.
func (f *wrapFlags) reportUnseen(s *verb.Streams, asked string, names []string, link *wrapLink) ([]string, error) {
	var seen []string
	why := ""
	said := map[string]bool{}
	for _, name := range names {
		findings := link.view.Analyse(name)
		if len(findings) > 0 && findings[0].Fatal {
			why = findings[0].Text
			continue
		}
		seen = append(seen, name)
		for _, finding := range findings {
			if !said[finding.Text] {
				verb.Note(s, "wrap: %s: %s", asked, finding.Text)
			}
			said[finding.Text] = true
		}
	}
	switch {
	case len(seen) > 0:
		return seen, nil
	case f.force:
		verb.Note(s, "wrap: %s: %s", asked, why)
		return names, nil
	}
	return nil, fmt.Errorf("wrap: %s: no call would be redirected: %s; use --force to link anyway", asked, why)
}

// link compiles the wrappers and runs the link with them. They come first, so that the symbols
// that they need are extracted from the archives that follow.
func (f *wrapFlags) link(ctx context.Context, s *verb.Streams, link *wrapLink, text []byte, options []string) error {
	dir, err := os.MkdirTemp("", "cairn-wrap-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(dir)()
	defer verb.RemoveAll(dir)
	source, object := filepath.Join(dir, "wrap.c"), filepath.Join(dir, "wrap.o")
	if err := os.WriteFile(source, text, 0o666); err != nil {
		return err
	}
	flags := append(f.ccFlags(), link.ccFlags...)
	compile := append(append(append(flags[:len(flags):len(flags)], "--small", "0", link.name), link.cmd.Forward()...),
		"-O2", "-fPIC", "-fexceptions", "-fno-lto", "-x", "c", "-c", "-o", object, source)
	if err := runCC(ctx, s, compile); err != nil {
		return err
	}
	args := append(append(flags[:len(flags):len(flags)], link.name, object), options...)
	return runCC(ctx, s, append(args, link.args...))
}

// ccFlags are the corresponding flags of cairn cc. Those of a cairn cc in the command come
// later and take precedence.
func (f *wrapFlags) ccFlags() []string {
	flags := []string{"--mode", "spike", "--default-dir", f.defaultDir}
	if f.threshold != "" {
		flags = append(flags, "--threshold", f.threshold)
	}
	return flags
}

// runCC runs cairn cc, which replaces itself by the compiler and therefore is a separate
// process.
func runCC(ctx context.Context, s *verb.Streams, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = append([]string{"cairn", "cc"}, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return verb.ExitError(max(exit.ExitCode(), 1))
	}
	return err
}

// parseCC splits a command into the compiler with its arguments and, if it is
// one of cairn cc, that one's flags.
func parseCC(command []string) (flags, compiler []string, err error) {
	if len(command) < 2 || filepath.Base(command[0]) != "cairn" || command[1] != "cc" {
		return nil, command, nil
	}
	var f toolchain.InstrumentFlags
	set := pflag.NewFlagSet("cc", pflag.ContinueOnError)
	set.SetInterspersed(false)
	f.Register(set)
	if err := set.Parse(command[2:]); err != nil {
		return nil, nil, verb.Usagef("wrap: cairn cc: %w", err)
	}
	if mode := set.Lookup("mode"); mode.Changed && !toolchain.MeasuresTime(mode.Value.String()) {
		return nil, nil, verb.Usagef("wrap: --mode %s does not measure time; use mode spike", mode.Value)
	}
	if compiler = set.Args(); len(compiler) == 0 {
		return nil, nil, verb.Usagef("wrap: no compiler after cairn cc")
	}
	return command[2 : len(command)-len(compiler)], compiler, nil
}

// checkLink returns why a command cannot be linked with wrappers.
func checkLink(cmd *driver.Command, name string) error {
	if cmd.Refusal != "" {
		return fmt.Errorf("wrap: %s", cmd.Refusal)
	}
	if !cmd.Links {
		return verb.Usagef("wrap: %s does not link with these arguments; give the command that links the program", name)
	}
	return nil
}
