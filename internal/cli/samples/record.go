package samples

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/internal/watch/lbr"
	"github.com/cairnprof/cairn/internal/watch/lbrfile"
)

// recordFlags are the flags of cairn record.
type recordFlags struct {
	lbr   bool
	out   string
	truth string
	every uint64
	event string
	depth int
	dsos  []string
	step  bool
	cc    string

	byCalls bool // stacks are the open calls, as there are no frame pointers
}

// defaultEvery is some ten thousand branches, and a prime.
const defaultEvery = 50021

func (f *recordFlags) byBranches() bool { return f.event == "branches" }

// Record returns the command cairn record.
func Record(s *verb.Streams) *cobra.Command {
	var f recordFlags
	c := &cobra.Command{
		Use:   "record -o FILE [flags] -- PROGRAM [ARG...]",
		Short: "Run a program and sample its branches and stacks",
		Long: `record runs a program and writes samples of its stack and of the branches it took
most recently. It corresponds to perf record -b, but needs no branch records (LBR) of
the processor, which most virtual machines lack. The output is the text of perf script
-F ip,brstack, for cairn profgen, cairn samples and llvm-profgen.

The program's code runs as a copy that records each branch, several times slower than
the original. Libraries run unmodified unless --dso selects them: by name if the
program is linked with the library (libsqlite3.so), by path if it loads the library
later, or all libraries that it is linked with except the C library. Each return from
an unmodified library costs some microseconds, except from common functions of the C
and C++ libraries.

Stacks are walked by frame pointers, as perf does, or if the program or a library that
is recorded was compiled without them (the default of gcc and clang with -O), are the
calls that have not returned. They are complete in prologues and epilogues as well, where
the frame pointer is the caller's. One in --every
instructions is sampled, so the samples of a function are proportional to the
instructions it executed, as with perf record -e instructions:u. A repeated
instruction (rep) counts once. With --event branches one in --every taken branches is
sampled, which favours loops of few instructions. Threads and forked processes are
recorded; other programs that it starts, or replaces itself with (exec), are not.

Some programs cannot load the recorder: those that are linked statically or with musl,
and Go programs. record stops these at each branch by ptrace, which is a thousand times
slower; --step does so for any program. In this mode branches of all libraries are
recorded, including the C library, and forked processes are not.

--truth writes the true stack of each sample, one line per sample in the same order,
including tail calls, which no stack walk finds: a reference to evaluate how well
missing frames are inferred. Calls are printed outermost first, with the addresses of
the call and of the function: C401000>401200 is a call, T a tail call, O a call from
outside; L is the address of the sample.

Only programs for Linux on x86-64 are supported. The exit code is the program's.`,
		Example: `  cairn record -o app.perf -- ./app --benchmark
  cairn record -o app.perf --dso libx.so --dso ./plugins/y.so -- ./app
  llvm-profgen --perfscript=app.perf --binary=app --output=app.prof`,
		Args: func(_ *cobra.Command, args []string) error { return f.check(args) },
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().BoolVar(&f.lbr, "lbr", false, "record the most recent branches of each sample; it always does")
	c.Flags().StringVarP(&f.out, "out", "o", "", "write the samples to `FILE`")
	c.Flags().StringVar(&f.truth, "truth", "", "write the true stacks to `FILE`")
	c.Flags().Uint64Var(&f.every, "every", defaultEvery, "sample one in `N` instructions")
	c.Flags().StringVar(&f.event, "event", "instructions", "event that --every counts: `instructions` or branches")
	verb.Values(c, "event", "instructions", "branches")
	c.Flags().IntVar(&f.depth, "depth", 32, "keep the last `N` branches in a sample")
	c.Flags().StringArrayVar(&f.dsos, "dso", nil, "also record branches of the library `NAME`, a name or a path, or all")
	c.Flags().BoolVar(&f.step, "step", false, "stop the program at each branch: works for any program, but is slow")
	c.Flags().StringVar(&f.cc, "cc", "gcc", "compile the recorder with `COMPILER`; cached")
	verb.Rules(c, verb.Excludes("dso", "step").Because("it records all libraries"))
	return c
}

// check validates the command line.
func (f *recordFlags) check(args []string) error {
	switch {
	case len(args) == 0:
		return verb.Usagef("record: no program given; use: cairn record -o app.perf -- ./app")
	case f.out == "":
		return verb.Usagef("record: no output given; use -o FILE")
	case f.truth == f.out:
		return verb.Usagef("record: -o and --truth are the same: %s", f.out)
	case f.every < 1 || f.every > 1<<40:
		return verb.Usagef("record: --every %d: must be from 1 to 2^40", f.every)
	case f.event != "instructions" && f.event != "branches":
		return verb.Usagef("record: --event %s: must be instructions or branches", f.event)
	case f.depth < 1 || f.depth > lbr.MaxDepth:
		return verb.Usagef("record: --depth %d: must be from 1 to %d", f.depth, lbr.MaxDepth)
	}
	return nil
}

func (f *recordFlags) run(ctx context.Context, s *verb.Streams, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return notRun(argv[0], err)
	}
	p, err := recordableAt(path)
	if err != nil {
		return err
	}
	if err := f.checkOutputs(); err != nil {
		return err
	}
	tmp, err := verb.PrivateDir("cairn-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	raw := filepath.Join(tmp, "samples")
	if err := os.WriteFile(raw, nil, 0o600); err != nil {
		return err
	}
	var code int
	switch {
	case f.step:
		code, err = f.stopping(ctx, s, argv, raw)
	case p.whyStep != "":
		verb.Note(s, "record: %s: %s: stopping it at each branch instead, which is a thousand times slower", path, p.whyStep)
		code, err = f.stopping(ctx, s, argv, raw)
	default:
		code, err = f.copying(ctx, s, p, argv, raw)
	}
	if err != nil {
		return err
	}
	if err := f.write(s, raw); err != nil {
		return err
	}
	if code != 0 {
		return verb.ExitError(code)
	}
	return nil
}

// notRun says why what was named cannot be run, which is what err says of a search in PATH.
func notRun(name string, err error) error {
	switch st, missing := os.Stat(name); {
	case missing != nil:
		return verb.Usagef("record: %v", err)
	case st.IsDir():
		return verb.Usagef("record: %s is a directory: name a program in it", name)
	case errors.Is(err, exec.ErrNotFound):
		return verb.Usagef("record: no %s in $PATH: for the file here write %s", name, "."+string(filepath.Separator)+name)
	case errors.Is(err, os.ErrPermission):
		return verb.Usagef("record: %s is no program: it has no permission to be executed", name)
	}
	return verb.Usagef("record: %v", err)
}

// checkOutputs checks, before the program runs, whether the directories of the output files
// exist.
func (f *recordFlags) checkOutputs() error {
	for _, path := range []string{f.out, f.truth} {
		if path == "" || path == "-" {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("record: %s is a directory", path)
		}
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return fmt.Errorf("record: writing %s: %w", path, err)
		}
	}
	return nil
}

// copying runs a program with the runtime, which executes copies of its code.
func (f *recordFlags) copying(ctx context.Context, s *verb.Streams, p *recordable, argv []string, raw string) (code int, err error) {
	libraries, err := f.libraries(ctx, s, p)
	if err != nil {
		return 0, err
	}
	library, err := f.library(ctx)
	if err != nil {
		return 0, err
	}
	plans := filepath.Dir(raw)
	if err := f.writePlans(s, plans, p.path, libraries); err != nil {
		return 0, err
	}
	f.byCalls = slices.ContainsFunc(append([]string{p.path}, libraries...), lbrfile.LacksFramePointers)
	flag := map[bool]string{false: "0", true: "1"}
	loaded, err := verb.Preload(library, plans)
	if err != nil {
		return 0, err
	}
	cmd := verb.InPlaceOfUs(ctx, s, p.path, argv, []string{
		loaded, "CAIRN_LBR=" + plans, "CAIRN_LBR_OUT=" + raw,
		"CAIRN_LBR_BRANCHES=" + flag[f.byBranches()], "CAIRN_LBR_EVERY=" + strconv.FormatUint(f.every, 10), "CAIRN_LBR_DEPTH=" + strconv.Itoa(f.depth), "CAIRN_LBR_TRUTH=" + flag[f.truth != ""],
		"CAIRN_LBR_BY_CALLS=" + flag[f.byCalls],
	})
	if f.out == "-" || f.truth == "-" {
		cmd.Stdout = s.Err
	}
	return verb.RunThrough(cmd)
}

// recordable is a program whose branches can be recorded.
type recordable struct {
	path, interpreter string
	whyStep           string // why the runtime cannot be loaded into it, or ""
}

// recordableAt looks at a program.
func recordableAt(path string) (*recordable, error) {
	if verb.Script(path) {
		return nil, verb.Usagef("record: %s is a script: give its interpreter as the program", path)
	}
	file, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case file.Machine() != machine.X86_64:
		return nil, fmt.Errorf("record: %s: a program for %v, not for x86-64", path, file.Machine())
	case info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 && os.Geteuid() != 0:
		return nil, fmt.Errorf("record: %s: a setuid or setgid program cannot be recorded", path)
	}
	p := &recordable{path: path, interpreter: file.Interpreter()}
	switch {
	case p.interpreter == "":
		p.whyStep = "linked statically, so the recorder cannot be loaded"
	case strings.Contains(filepath.Base(p.interpreter), "musl"):
		p.whyStep = "its C library is musl, which the recorder does not support"
	case slices.ContainsFunc(file.LoadedSections(), func(s objfile.LoadedSection) bool { return s.Name == ".gopclntab" }):
		p.whyStep = "a Go program, which bypasses the C library"
	}
	return p, nil
}

// library returns the runtime, which is compiled on first use.
func (f *recordFlags) library(ctx context.Context) (string, error) {
	const name = "libcairn-lbr.so"
	if _, err := exec.LookPath(f.cc); err != nil {
		return "", verb.Usagef("record: compiler %q not found to build the recorder: give one with --cc, or use --step, which needs none", f.cc)
	}
	c, err := toolchain.FindCompiler(f.cc)
	if err != nil {
		return "", err
	}
	dir, err := toolchain.Cached("lbr-", "the recorder, with "+c.Path, c, toolchain.ShimOptions{}, func(tmp, _ string) error {
		args := append([]string{"-o", name}, lbr.Flags...)
		for _, src := range lbr.Sources() {
			if err := os.WriteFile(filepath.Join(tmp, src.Name), src.Data, 0o644); err != nil {
				return err
			}
			if filepath.Ext(src.Name) != ".h" {
				args = append(args, src.Name)
			}
		}
		cmd := exec.CommandContext(ctx, c.Path, append(args, "-ldl")...)
		cmd.Dir = tmp
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	})
	return filepath.Join(dir, name), err
}

// write converts the runtime's output to text, and prints a summary.
func (f *recordFlags) write(s *verb.Streams, raw string) error {
	file, err := os.Open(raw)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := recording{most: lbr.MaxStack, maps: mappings{own: filepath.Dir(raw) + "/", last: map[int32]string{}}}
	if f.byCalls {
		sum.most = lbr.MaxCalls
	}
	err = verb.WriteFile(s, f.out, func(out io.Writer) error {
		w := bufio.NewWriterSize(out, 1<<20)
		if _, err := w.WriteString(perfscript.WholeStacks); err != nil {
			return err
		}
		for rec, err := range lbr.Records(file) {
			if err != nil {
				verb.Note(s, "record: %v; earlier samples are kept", err)
				break
			}
			if _, err := w.Write(sum.add(&rec)); err != nil {
				return err
			}
		}
		if !sum.began {
			return errors.New("the program did not load the recorder; --step works without it")
		}
		return w.Flush()
	})
	if err != nil {
		return err
	}
	if f.truth != "" {
		if err := f.writeTruth(s, file); err != nil {
			return err
		}
	}
	sum.summarize(s, f.out)
	return nil
}

// recording is the summary of a run's records.
type recording struct {
	began                           bool // something was recorded
	samples, instructions, branches uint64
	lost                            uint64   // an address of code that could not be copied, or 0
	most                            int      // frames in a sample
	deep                            uint64   // samples with as many
	plain                           []string // why something was not recorded
	maps                            mappings
	text                            []byte // of the last record
}

// add counts a record, and returns its text, if it has one.
func (r *recording) add(rec *lbr.Record) []byte {
	switch {
	case rec.Maps != nil:
		r.began = true
		return r.maps.unseen(rec)
	case rec.Sample != nil:
		r.samples++
		if len(rec.Sample.Stack) >= r.most {
			r.deep++
		}
		r.text = rec.Sample.Append(r.text[:0])
		return r.text
	case rec.End != nil:
		r.branches += rec.End.Branches
		r.instructions += rec.End.Instructions
	case rec.Plain != "":
		if !slices.Contains(r.plain, rec.Plain) {
			r.plain = append(r.plain, rec.Plain)
		}
	default:
		r.lost = rec.Lost
	}
	return nil
}

// summarize prints what was recorded, and what was not.
func (r *recording) summarize(s *verb.Streams, out string) {
	for _, why := range r.plain {
		verb.Note(s, "record: not recorded: %s", why)
	}
	switch {
	case r.lost != 0:
		verb.Note(s, "record: the program ran code at %#x that could not be disassembled; that file is not recorded from then on", r.lost)
	case r.samples == 0 && len(r.plain) == 0:
		verb.Note(s, "record: the code that is recorded executed too few instructions for a sample: record libraries with --dso all, or use a smaller --every")
	}
	if r.deep > 0 {
		verb.Note(s, "record: %s at least %d frames, of which the innermost %d are recorded: totals of functions further out are too low",
			report.Count(r.deep)+" "+report.Either(r.deep, "sample has", "samples have"), r.most, r.most)
	}
	of := ""
	if r.branches > 0 { // reported by processes that exit normally
		of = " of " + report.Count(r.instructions) + " instructions with " + report.Count(r.branches) + " taken branches"
	}
	fmt.Fprintf(s.Remarks(), "cairn: %s%s written to %s\n", report.Plural(int(r.samples), "sample"), of, out)
}

// mappings records which mappings of each process were written.
type mappings struct {
	own  string // a directory: files in it are ours
	last map[int32]string
}

// unseen are the mappings of a record that were not in the last one of the process.
func (m *mappings) unseen(rec *lbr.Record) []byte {
	var out []byte
	all := string(lbr.AppendMaps(nil, rec.PID, rec.Maps))
	for line := range strings.Lines(all) {
		if !strings.Contains(line, m.own) && !strings.Contains(m.last[rec.PID], line) {
			out = append(out, line...)
		}
	}
	m.last[rec.PID] = all
	return out
}

func (f *recordFlags) writeTruth(s *verb.Streams, raw *os.File) error {
	if _, err := raw.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return verb.WriteFile(s, f.truth, func(out io.Writer) error {
		w := bufio.NewWriterSize(out, 1<<20)
		var line []byte
		for rec, err := range lbr.Records(raw) {
			if err != nil {
				break // printed already
			}
			if rec.Sample == nil {
				continue
			}
			line = rec.Sample.AppendTruth(line[:0])
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}
