// Command torture builds random and third-party programs with probes, in every mode and
// with both compilers, and compares their output with that of the programs without
// probes. It takes random programs of csmith and the execution tests of gcc. Run it with
// make torture, from the root of the repository: it goes on until it is told to stop, by
// SIGINT or -programs, and says each program that differs and how to make it again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	t := torture{log: os.Stderr}
	flag.StringVar(&t.cairn, "cairn", "../cairn", "the program under test")
	flag.StringVar(&t.out, "out", "torture/out", "directory for what differs")
	machine := flag.String("machine", targets[0].name, "machine to build for: x86-64, aarch64 or armv7, whose programs an emulator runs")
	first := flag.Uint64("seed", 1, "first seed of csmith")
	programs := flag.Int("programs", 0, "how many programs to try; 0 for no end")
	tests := flag.String("gcc-tests", "", "directory gcc.c-torture/execute of gcc's sources: its programs come first")
	report := flag.String("report", "", "write a report to this Markdown `file`")
	flag.IntVar(&t.modes, "modes", 0, "how many modes to try each program in, drawn for each; 0 for all")
	flag.StringVar(&t.only, "only", "", "try the programs only in this `mode`, and in one that records its profile")
	jobs := flag.Int("jobs", runtime.NumCPU(), "programs at a time")
	flag.Parse()
	var err error
	if t.target, err = targetOf(*machine); err == nil {
		err = t.prepare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
	next, err := sources(*tests, true, *first, *programs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
	t.run(ctx, next, *jobs)
	if *report != "" {
		if err := os.WriteFile(*report, []byte(t.markdown()), 0o666); err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
			os.Exit(1)
		}
	}
	fmt.Fprint(os.Stderr, t.markdown())
	if t.failed > 0 {
		os.Exit(1)
	}
}

// torture is one run and what it has found.
type torture struct {
	cairn  string
	out    string
	log    io.Writer
	target *target
	modes  int    // for each program, 0 for all
	only   string // the only mode, "" for all

	mu       sync.Mutex
	programs int                // that were tried
	left     map[string]int     // programs that were not, by the reason
	cases    map[string]*result // by mode
	by       map[string]int     // programs by compiler and level
	from     map[string]int     // programs by where they come from
	failed   int
	started  time.Time
	took     time.Duration
}

// result counts the cases of a mode, and those that failed by what went wrong.
type result struct {
	tried   int
	refused int // cairn did not build it
	differs int // it answers otherwise
	other   int // it ran too long, or what it left cannot be read
}

func (r *result) failed() int { return r.refused + r.differs + r.other }

// prepare finds what a run needs.
func (t *torture) prepare() (err error) {
	t.started = time.Now()
	t.left, t.cases = map[string]int{}, map[string]*result{}
	t.by, t.from = map[string]int{}, map[string]int{}
	for _, m := range t.target.modes() {
		t.cases[m.name] = &result{}
	}
	if t.cairn, err = filepath.Abs(t.cairn); err != nil {
		return err
	}
	if _, err := os.Stat(t.cairn); err != nil {
		return fmt.Errorf("%w (make build makes it)", err)
	}
	t.out, err = filepath.Abs(t.out)
	return err
}

// run tries programs until there are no more or ctx ends.
func (t *torture) run(ctx context.Context, next func() (source, bool), jobs int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range jobs {
		wg.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				src, ok := next()
				mu.Unlock()
				if !ok {
					return
				}
				t.try(ctx, src)
			}
		})
	}
	wg.Wait()
	t.took = time.Since(t.started)
}

// try tries one program in all modes.
func (t *torture) try(ctx context.Context, src source) {
	dir, err := os.MkdirTemp("", "cairn-torture-")
	if err != nil {
		t.leave("no directory for it")
		return
	}
	defer os.RemoveAll(dir)
	p := program{torture: t, dir: dir, source: src}
	if why := p.plain(ctx); why != "" {
		t.leave(why)
		return
	}
	t.mu.Lock()
	t.programs++
	t.by[strings.Join(p.compiler, " ")]++
	t.from[src.origin()]++
	if t.programs%100 == 0 {
		fmt.Fprintf(t.log, "torture: %d programs, %d failed, after %v\n", t.programs, t.failed, time.Since(t.started).Round(time.Second))
	}
	t.mu.Unlock()
	for _, m := range t.draw(src.seed) {
		err := p.try(ctx, &m)
		if ctx.Err() != nil {
			return
		}
		t.note(&p, &m, err)
	}
}

// draw returns the modes that a program is tried in, by its seed. Those that build by a profile come last, and after
// one that leaves it.
func (t *torture) draw(seed uint64) (drawn []mode) {
	all := t.target.modes()
	for _, i := range rand.New(rand.NewPCG(seed, 3)).Perm(len(all)) {
		drawn = append(drawn, all[i])
	}
	if t.modes > 0 && t.modes < len(drawn) {
		drawn = drawn[:t.modes]
	}
	if t.only != "" {
		drawn = slices.DeleteFunc(slices.Clone(all), func(m mode) bool { return m.name != t.only })
	}
	var last []mode
	drawn = slices.DeleteFunc(drawn, func(m mode) bool {
		_, use := uses[m.name]
		if use {
			last = append(last, m)
		}
		return use
	})
	for i := range last {
		use := uses[last[i].name]
		if !slices.ContainsFunc(drawn, func(m mode) bool { return use.fits(&m) }) {
			drawn = append(drawn, all[slices.IndexFunc(all, func(m mode) bool { return m.name == use.after })])
		}
	}
	return append(drawn, last...)
}

func (t *torture) leave(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left[why]++
}

// errNothing is of a mode that has nothing to do for a program.
var errNothing = errors.New("nothing to do")

// note counts a case, and keeps what is needed to make one that failed again.
func (t *torture) note(p *program, m *mode, err error) {
	if errors.Is(err, errNothing) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.cases[m.name]
	r.tried++
	if err == nil {
		return
	}
	switch {
	case errors.Is(err, errRefused):
		r.refused++
	case errors.Is(err, errDiffers):
		r.differs++
	default:
		r.other++
	}
	t.failed++
	fmt.Fprintf(t.log, "torture: %s: %s, %s: %v\n", p.source.name, strings.Join(p.compiler, " "), m.name, err)
	keep := filepath.Join(t.out, strings.NewReplacer("/", "-", " ", "-").Replace(p.source.name+"-"+m.name))
	if os.MkdirAll(keep, 0o777) == nil {
		os.CopyFS(keep, os.DirFS(p.dir))
		fmt.Fprintf(t.log, "torture: kept in %s\n", keep)
	}
}
