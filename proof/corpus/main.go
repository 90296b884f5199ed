// Command corpus builds real programs with unmodified build systems, in each mode, by
// their profiles, and through a compiler cache, runs their own tests, and reports whether
// the results are the same as without probes.
//
//	go run -C proof ./corpus [-only REGEXP] [-cases REGEXP] [-o FILE]
//
// What earlier runs found of other programs stays in the table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// corpus is one run over programs and cases.
type corpus struct {
	cairn string // the program under test
	out   string // directory for trees
	repo  string
	limit time.Duration // of one build or test
	keep  bool
	// revision of the repository: rows of earlier ones stay until their programs are
	// built again.
	revision string
	cases    *regexp.Regexp
	say      func(format string, args ...any)
}

func main() {
	only := flag.String("only", "", "programs whose name matches this `regexp`")
	cases := flag.String("cases", "", "cases whose name matches this `regexp`: cover, full, use, full ccache...")
	report := flag.String("o", filepath.Join("..", "bench", "CORPUS.md"), "write the table to `file`")
	limit := flag.Duration("limit", time.Hour, "end a build or a test that takes longer")
	keep := flag.Bool("keep", false, "keep the trees of cases that failed")
	flag.Parse()
	if err := run(*only, *cases, *report, *limit, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(only, cases, report string, limit time.Duration, keep bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wanted, err := regexp.Compile("^(?:" + only + ")")
	if err != nil {
		return err
	}
	c, err := newCorpus(ctx, cases, limit, keep)
	if err != nil {
		return err
	}
	rows, err := readRows(filepath.Join(c.out, rowsFile))
	if err != nil {
		return err
	}
	failed := 0
	for i := range guests {
		g := &guests[i]
		if !wanted.MatchString(g.name) {
			continue
		}
		found := c.guest(ctx, g)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, r := range found {
			if r.Bad {
				failed++
			}
		}
		// What is known is kept, should the next one never end.
		rows = replaced(rows, found)
		if err := writeRows(filepath.Join(c.out, rowsFile), rows); err != nil {
			return err
		}
		earlier, err := os.ReadFile(report)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(report, table(rows, earlier), 0o644); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d cases failed: see %s", failed, report)
	}
	return nil
}

// newCorpus builds cairn, and says where things are.
func newCorpus(ctx context.Context, cases string, limit time.Duration, keep bool) (*corpus, error) {
	c := &corpus{limit: limit, keep: keep, say: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
	}}
	var err error
	if c.cases, err = regexp.Compile("^(?:" + cases + ")"); err != nil {
		return nil, err
	}
	if c.repo, err = shorttest.Source(ctx); err != nil {
		return nil, err
	}
	c.out = filepath.Join(c.repo, "proof", "corpus", "out")
	c.cairn = filepath.Join(c.out, "cairn")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", c.cairn, "./cmd/cairn")
	build.Dir = c.repo
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building cairn: %w: %s", err, text)
	}
	c.revision = revision()
	return c, nil
}
