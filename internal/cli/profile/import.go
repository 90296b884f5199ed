package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/orderfile"
	"github.com/cairnprof/cairn/format/profdata"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/profile/match"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

type importFlags struct {
	profile, output string
	binary, mapping string
	traces          runFlags
}

// Import returns the command cairn import.
func Import(s *verb.Streams) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import BINARY FILE... -o FILE.mip",
		Short: "Convert first executions recorded by LLVM to a profile",
		Long: `import makes a profile from the order in which runs first called functions, as
recorded by LLVM's own instrumentation, and matches the functions with those of a
binary. cairn order and the other commands then use it like a profile of cairn's own
runs. cairn export --format llvm-temporal is the reverse.

Each FILE is one of the following, recognised by its content, as BINARY is:
  a temporal profile: .proftext, or .profdata and .profraw, which need an
    llvm-profdata on PATH. Compile with -fprofile-generate -ftemporal-profile,
    or -mllvm -pgo-temporal-instrumentation before clang 20.
  an order-file dump: .order, of programs that clang 9 to 20 built with
    -forder-file-instrumentation. --mapping names the file that
    -orderfile-write-mapping wrote; without it, hashes are matched with those of
    the binary's symbols.

BINARY is the program to be ordered, not necessarily the one that ran. For a binary
built with cairn cc its map is used, for any other its symbol table; it needs a
build id. A profile (.mip) among the inputs is added to, in place if it is that of -o.
Names without a function in the binary are counted and omitted: usually
the compiler did not inline those functions in the build that was recorded.`,
		Example: `  cairn import app run.profdata -o app.mip && cairn order -o app.order app.mip
  cairn import app app.mip --scenario open default.profraw.order -o app.mip`,
		Args: verb.ExactFiles("import", "profiles or dumps", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringVarP(&f.profile, "profile", "p", "", "add to this profile, a .mip `file`, in place")
	verb.Hide(c, "profile")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write this profile, a .mip `file`, or - for standard output")
	c.Flags().StringVar(&f.binary, "binary", "", "the `binary` that the functions are in")
	verb.Hide(c, "binary")
	c.Flags().StringVar(&f.mapping, "mapping", "", "names of the hashes in order-file dumps, a `file` written by the compiler")
	f.traces.register(c)
	return c
}

func (f *importFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	args, binaries := verb.SplitBinaries(args)
	if f.binary != "" {
		binaries = append(binaries, f.binary)
	}
	args, err := f.base(args)
	switch {
	case err != nil:
		return err
	case f.profile == "" && f.output == "":
		return verb.Usagef("import: give -o FILE.mip, the profile to write; to add to a profile, give it as an input as well")
	case len(binaries) == 0:
		return verb.Usagef("import: no binary given, which the functions are in")
	case len(binaries) > 1:
		return verb.Usagef("import: %s and %s are binaries: give one", binaries[0], binaries[1])
	case len(args) == 0:
		return verb.Usagef("import: no profile or dump given, only the binary %s", binaries[0])
	}
	f.binary = binaries[0]
	if err := f.traces.check(); err != nil {
		return err
	}
	im, err := newImporter(s, f)
	if err != nil {
		return err
	}
	for _, path := range args {
		if err := im.add(ctx, path); err != nil {
			return err
		}
	}
	path, p := f.output, new(prof.Profile)
	if f.profile != "" {
		var unlock func()
		if path, p, unlock, err = gather.Lock(ctx, f.profile); err != nil {
			return err
		}
		defer unlock()
		path = cmp.Or(f.output, path)
	}
	if err := merge.Profiles(p, &prof.Profile{Modules: []prof.Module{im.sum.Module()}}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := range p.Modules {
		merge.Sample(&p.Modules[i], f.traces.Limit)
	}
	return verb.WriteProfile(s, path, p)
}

// base takes the profile to which the first executions are added from the arguments.
func (f *importFlags) base(args []string) (others []string, err error) {
	if f.profile != "" && f.output != "" {
		return nil, verb.Usagef("import: -p FILE.mip adds to a profile in place: give no -o")
	}
	for _, arg := range args {
		var head []byte
		if !verb.IsStream(arg) {
			head, err = verb.ReadHead(arg)
		}
		switch {
		case err != nil || kind.Of(head) != kind.Profile:
			others = append(others, arg)
		case f.output == "" && f.profile == "":
			return nil, verb.Usagef("import: give -o FILE.mip, the profile to write: %s is added to in place by -o %[1]s", arg)
		case f.profile != "":
			return nil, verb.Usagef("import: %s and %s are profiles to add to: give one", f.profile, arg)
		default:
			f.profile = arg
		}
	}
	return others, nil
}

// importer converts the traces of files to runs of a module.
type importer struct {
	s        *verb.Streams
	f        *importFlags
	m        *prof.Map
	resolver *match.Resolver
	sum      *merge.Accumulator
	hashes   orderfile.Names
}

func newImporter(s *verb.Streams, f *importFlags) (*importer, error) {
	m, aliases, err := readFunctions(s, f.binary)
	if err != nil {
		return nil, err
	}
	im := &importer{
		s: s, f: f, m: m,
		resolver: match.New(m, aliases),
		sum:      merge.NewAccumulator(merge.NewLayout(m), f.traces.Limit),
		hashes:   make(orderfile.Names),
	}
	if f.mapping != "" {
		data, err := verb.ReadFile(f.mapping)
		if err != nil {
			return nil, err
		}
		if im.hashes, err = orderfile.ReadMapping(data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.mapping, err)
		}
	}
	for i := range m.Funcs {
		im.hashes.Add(m.Funcs[i].Name)
	}
	for _, a := range aliases {
		im.hashes.Add(a.Symbol)
	}
	return im, nil
}

// readFunctions returns the map in the binary at path, or one made from its symbols, and all
// the names of its functions.
func readFunctions(s *verb.Streams, path string) (*prof.Map, []match.Alias, error) {
	bin, err := objfile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer bin.Close()
	var m *prof.Map
	if data, noMap := gather.MapSection(bin); noMap == nil && data != nil {
		m, err = gather.ReadBinaryMap(s, path)
	} else {
		m, err = bin.FunctionMap()
	}
	if errors.Is(err, objfile.ErrNoBuildID) {
		return nil, nil, fmt.Errorf("%w: link with -Wl,--build-id", err)
	} else if err != nil {
		return nil, nil, err
	}
	symbols, err := bin.FuncSymbols()
	if err != nil {
		return nil, nil, err
	}
	aliases := make([]match.Alias, len(symbols))
	for i := range symbols {
		aliases[i] = match.Alias{Symbol: symbols[i].Name, Addr: symbols[i].Addr}
	}
	return m, aliases, nil
}

// add adds the traces in the file at path.
func (im *importer) add(ctx context.Context, path string) error {
	traces, err := im.read(ctx, path)
	if err != nil {
		return err
	}
	for i, t := range traces {
		name := path
		if len(traces) > 1 {
			name = fmt.Sprintf("%s: trace %d", path, i+1)
		}
		found := im.resolver.Trace(t.names)
		if len(found.Funcs) == 0 {
			return fmt.Errorf("%s: none of its %s is a function of %s; is that the program that ran?", name, report.Plural(len(t.names), "name"), im.f.binary)
		}
		if n := len(found.Unresolved); n > 0 {
			verb.Note(im.s, "%s: %d of %s are not functions of %s (inlined or renamed): %s", name, n, report.Plural(len(t.names), "name"), im.f.binary, someOf(found.Unresolved))
		}
		if found.Ambiguous > 0 {
			verb.Note(im.s, "%s: %s %s to several functions of %s, which are ordered by address", name, report.Plural(found.Ambiguous, "name"), report.Either(uint64(found.Ambiguous), "belongs", "belong"), im.f.binary)
		}
		r := merge.FirstExecutions(im.m, found.Funcs)
		r.Scenario, r.Weight = im.f.traces.Scenario, saturate.Mul(im.f.traces.Weight, max(t.weight, 1))
		r.Key = im.f.traces.Key(path, &mip.Raw{PID: uint32(i), Data: r.Data})
		if err := im.sum.AddRun(r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(im.s.Remarks(), "%s: first executions of %s\n", name, report.Plural(len(found.Funcs), "function"))
	}
	return nil
}

// someOf lists the first few of names.
func someOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// foreignTrace is a trace of a file.
type foreignTrace struct {
	weight uint64
	names  []match.Name
}

// read reads the traces in the file at path, of any supported kind.
func (im *importer) read(ctx context.Context, path string) ([]foreignTrace, error) {
	data, err := verb.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch form := profdata.Detect(data); {
	case form == profdata.KindIndexed, form == profdata.KindRaw:
		if data, err = profdataText(ctx, path); err != nil {
			return nil, err
		}
	case form == profdata.KindText:
	case len(data) == orderfile.DumpSize, len(data) == orderfile.MaxDumpSize, filepath.Ext(path) == ".order":
		return im.readDump(path, data)
	default:
		return nil, fmt.Errorf("%s: not a profile of LLVM nor an order-file dump: it is %v", path, kind.Of(data))
	}
	p, err := profdata.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var traces []foreignTrace
	for i := range p.Traces {
		t := foreignTrace{weight: p.Traces[i].Weight}
		for _, full := range p.Traces[i].Names {
			file, name := profdata.SplitName(full)
			t.names = append(t.names, match.Name{File: file, Symbol: name})
		}
		traces = append(traces, t)
	}
	return traces, nil
}

func (im *importer) readDump(path string, data []byte) ([]foreignTrace, error) {
	d, err := orderfile.ReadDump(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	symbols, unknown := d.Resolve(im.hashes)
	if len(symbols) == 0 {
		return nil, fmt.Errorf("%s: none of its %d hashes is that of a name in %s; is that the program that ran?", path, unknown, im.f.binary)
	}
	if unknown > 0 {
		verb.Note(im.s, "%s: %d of %d hashes match no known name (give the compiler's mapping with --mapping)", path, unknown, len(d.Hashes))
	}
	if d.Full {
		verb.Note(im.s, "%s is full: later functions are missing", path)
	}
	t := foreignTrace{weight: 1}
	for _, name := range symbols {
		t.names = append(t.names, match.Name{Symbol: name})
	}
	return []foreignTrace{t}, nil
}
