package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/order"
	"github.com/cairnprof/cairn/prof"
)

// The formats of order files, by what stands before each symbol.
var orderFormats = map[string]string{"symbols": "", "sections": ".text."}

func newOrderCmd(s *Streams) *cobra.Command {
	var f profileFlags
	var out, format string
	c := &cobra.Command{
		Use:   "order -p FILE.mip [-o FILE]",
		Short: "Write a linker's symbol ordering file",
		Long: `order lists the functions that ran in the order in which they first did, one
symbol on each line: programs linked in that order start with fewer page faults.
lld and mold take symbols (--symbol-ordering-file), gold takes sections
(--section-ordering-file). Compile with -ffunction-sections.`,
		Example: "  cairn order -p app.mip -o app.order && clang -fuse-ld=lld -Wl,--symbol-ordering-file=app.order ...",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			prefix, ok := orderFormats[format]
			if !ok {
				return usagef("--format %s: there is symbols and sections", format)
			}
			p, err := f.open()
			if err != nil {
				return err
			}
			m, err := onlyModule(&f, p)
			if err != nil {
				return err
			}
			symbols := order.Symbols(m, order.ByFirstExecution(m))
			if !recordsOrder(m) {
				note(s, "%s does not record when functions first ran: they are listed by address (use --mode=count or full)", f.path)
			}
			return writeFile(s, out, func(w io.Writer) error { return writeSymbols(w, prefix, symbols) })
		},
	}
	f.register(c)
	c.Flags().StringVarP(&out, "output", "o", "-", "write to this `file`")
	c.Flags().StringVar(&format, "format", "symbols", "`format` of the lines: symbols or sections (.text.NAME)")
	return c
}

// onlyModule returns the one module of p: an order file is for one link.
func onlyModule(f *profileFlags, p *prof.Profile) (*prof.Module, error) {
	if len(p.Modules) == 1 {
		return &p.Modules[0], nil
	}
	if len(p.Modules) == 0 {
		return nil, fmt.Errorf("%s: the profile is empty", f.path)
	}
	names := make([]string, len(p.Modules))
	for i := range p.Modules {
		names[i] = p.Modules[i].Module
	}
	return nil, usagef("%s has several modules: choose one with --module (%s)", f.path, strings.Join(names, ", "))
}

func recordsOrder(m *prof.Module) bool {
	for i := range m.Funcs {
		if m.Funcs[i].Mode.HasCalls() {
			return true
		}
	}
	return false
}

func writeSymbols(w io.Writer, prefix string, symbols []string) error {
	b := bufio.NewWriter(w)
	for _, sym := range symbols {
		fmt.Fprintf(b, "%s%s\n", prefix, sym)
	}
	return b.Flush()
}
