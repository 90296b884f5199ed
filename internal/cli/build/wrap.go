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

// wrapFlags are those of cairn wrap.
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
		Short: "Time functions whose code cannot be compiled again",
		Long: `wrap makes a function around each function named, which a linker's --wrap puts
in its callers' way: its calls are timed as those of a program that cairn cc
--mode spike built, though its own code is left as it is. The command behind --
links with them; -o writes their source.

A wrapper is a C function where the types of the parameters are known: from
--prototype, from the debug information of the --from files, or of the objects of
the link, or because the function is one of the C library that cairn knows. Where
they are not, or C cannot pass them on (a variable number of them), the function's
return address is swapped while it runs, and nothing else is touched. Where shadow
stacks (CET) are on, such calls are not timed.

NAME may be a C++ function as people write it, with its parameters where there
are several of that name. Give the mangled name where there is no link to look
it up in.

Not every call can be redirected, and linkers do not say which are not. wrap
looks through the objects of the link and names: calls within the object that
defines the function (only lld redirects those), functions that gcc -flto
resolved before, static functions, other names of the function, calls within
shared libraries. Where nothing at all would be redirected, it fails. Calls that
the compiler inlined are gone before any linker sees them.

The program writes a log as in mode spike: see cairn spikes.`,
		Example: `  cairn wrap malloc,free -- gcc -o app main.o util.o
  cairn wrap deflate --from libz.so.debug -- gcc -o app main.o -lz
  cairn wrap 'store::put(int)' -- g++ -o app main.o store.o
  cairn wrap frob --prototype 'int frob(const char *, size_t)' -o wrap.c`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verb.Usagef("wrap: which functions? Write: cairn wrap malloc,free -- gcc -o app main.o")
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
	fl.StringArrayVar(&f.prototypes, "prototype", nil, "the function is declared like this, such as `'void *malloc(size_t)'`; repeatable")
	fl.StringVarP(&f.out, "output", "o", "", "write the wrappers to this `file`; - for standard output")
	fl.StringVar(&f.threshold, "threshold", "", "calls that take longer are spikes, unless the environment says otherwise, such as `5ms`")
	fl.StringVar(&f.defaultDir, "default-dir", ".", "where the program writes its log while CAIRN_DIR is unset; none for nowhere")
	fl.BoolVar(&f.force, "force", false, "link even if a wrapper would see no call")
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
		return verb.Usagef("wrap: which functions? Write: cairn wrap malloc,free -- gcc -o app main.o")
	}
	if f.out == "" && len(command) == 0 {
		return verb.Usagef("wrap: give the link behind --, or write the wrappers with -o wrap.c")
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

// judge prints what wrappers of a function will not see. It leaves out those of
// its names that nothing calls, and fails if nothing calls any.
func (f *wrapFlags) judge(s *verb.Streams, asked string, names []string, link *wrapLink) ([]string, error) {
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
	return nil, fmt.Errorf("wrap: %s: nothing would be wrapped: %s; --force links all the same", asked, why)
}

// link compiles the wrappers and runs the link with them. They come first, so
// that what they need is taken out of the archives that follow.
func (f *wrapFlags) link(ctx context.Context, s *verb.Streams, link *wrapLink, text []byte, options []string) error {
	dir, err := os.MkdirTemp("", "cairn-wrap-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(dir)()
	defer os.RemoveAll(dir)
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

// ccFlags are the flags of cairn cc that these stand for. Those of a cairn cc in
// the command come behind and win.
func (f *wrapFlags) ccFlags() []string {
	flags := []string{"--mode", "spike", "--default-dir", f.defaultDir}
	if f.threshold != "" {
		flags = append(flags, "--threshold", f.threshold)
	}
	return flags
}

// runCC runs cairn cc, which becomes the compiler and therefore is a process of
// its own.
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
		return nil, nil, verb.Usagef("wrap: --mode %s measures no time, and wrappers do: take mode spike", mode.Value)
	}
	if compiler = set.Args(); len(compiler) == 0 {
		return nil, nil, verb.Usagef("wrap: no compiler behind cairn cc")
	}
	return command[2 : len(command)-len(compiler)], compiler, nil
}

// checkLink says why a command cannot be linked with wrappers.
func checkLink(cmd *driver.Command, name string) error {
	if cmd.Refusal != "" {
		return fmt.Errorf("wrap: %s", cmd.Refusal)
	}
	if !cmd.Links {
		return verb.Usagef("wrap: %s links nothing with these arguments, and wrapping is done by the linker: give the command that links the program", name)
	}
	return nil
}
