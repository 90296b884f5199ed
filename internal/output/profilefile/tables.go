package profilefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/profiletables"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// maxProfile limits the size of a build's profile from a collector.
const maxProfile = 1 << 31

// tables writes the tables of a profile, or of all that a collector has, into a directory or an object store.
func (f *Choice) tables(ctx context.Context, s *verb.Streams) error {
	if !strings.HasPrefix(f.Parquet, objectstore.Scheme) {
		made := missing(f.Parquet)
		if err := os.MkdirAll(f.Parquet, 0o777); err != nil {
			return err
		}
		err := f.tablesInto(ctx, s, f.Parquet)
		if err != nil {
			for _, dir := range made {
				_ = os.Remove(dir) // if it is empty
			}
		}
		return err
	}
	bucket, err := objectstore.Open(f.Parquet)
	if err != nil {
		return verb.Usagef("--parquet: %v", err)
	}
	dir, err := os.MkdirTemp("", "cairn-tables-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(dir)()
	defer os.RemoveAll(dir)
	if err := f.tablesInto(ctx, s, dir); err != nil {
		return err
	}
	for _, name := range profiletables.Names {
		if err := putTable(ctx, bucket, dir, name+".parquet"); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Remarks(), "%s: sent %s\n", f.Parquet, report.Plural(len(profiletables.Names), "table"))
	return nil
}

// missing returns the directories of a path that do not exist, the innermost first.
func missing(path string) (dirs []string) {
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}

func putTable(ctx context.Context, bucket *objectstore.Bucket, dir, name string) error {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	return bucket.PutFile(ctx, name, "application/vnd.apache.parquet", file)
}

// tablesInto writes the tables into a directory.
func (f *Choice) tablesInto(ctx context.Context, s *verb.Streams, dir string) error {
	fill := func(w *profiletables.Writers) error { return f.profileTables(ctx, s, w) }
	if verb.IsURL(f.Path) {
		base, err := client.CheckURL(f.Path)
		if err != nil {
			return verb.Usagef("export: %v", err)
		}
		c := client.FromEnvironment()
		builds, ok, err := c.Builds(ctx, base)
		if err != nil {
			return err
		}
		if ok {
			fill = func(w *profiletables.Writers) error { return collectorTables(ctx, w, c, base, builds) }
		}
	}
	return writeTables(s, dir, nil, func(files []io.Writer) error {
		w := profiletables.New(files)
		if err := fill(w); err != nil {
			return err
		}
		return w.Close()
	})
}

// writeTables opens the files of the tables that are not open yet, and calls fill with all. They get
// their names only when all are complete.
func writeTables(s *verb.Streams, dir string, open []io.Writer, fill func([]io.Writer) error) error {
	if len(open) == len(profiletables.Names) {
		return fill(open)
	}
	path := filepath.Join(dir, profiletables.Names[len(open)]+".parquet")
	var inner error
	err := verb.WriteFile(s, path, func(w io.Writer) error {
		inner = writeTables(s, dir, append(open, w), fill)
		return inner
	})
	if inner != nil { // it names the file already, or is not about one
		return inner
	}
	return err
}

// profileTables writes the tables of the modules of a profile.
func (f *Choice) profileTables(ctx context.Context, s *verb.Streams, w *profiletables.Writers) error {
	p, err := f.Open(ctx, s)
	if err != nil {
		return err
	}
	for i := range p.Modules {
		if err := writeModule(w, &p.Modules[i], profiletables.BuildOf(&p.Modules[i])); err != nil {
			return err
		}
	}
	return nil
}

// writeModule writes the rows of a build without a collector.
func writeModule(w *profiletables.Writers, m *prof.Module, b profiletables.Build) error {
	if err := w.Builds.Write(b); err != nil {
		return err
	}
	var names report.Names
	if err := w.Module(m, names.Show); err != nil {
		return err
	}
	g := callgraph.Build(&prof.Profile{Modules: []prof.Module{*m}}, false)
	rows := make([]profiletables.Edge, 0, len(g.Edges))
	for i := range g.Edges {
		e := &g.Edges[i]
		rows = append(rows, profiletables.Edge{
			Program: b.Program, Build: b.Build, Caller: g.Nodes[e.From].Name, Callee: g.Nodes[e.To].Name,
			Kind: e.Kind.String(), Runs: int64(e.Runs),
		})
	}
	return w.Edges.Write(rows...)
}

// collectorTables writes the tables of all builds of a collector, one by one.
func collectorTables(ctx context.Context, w *profiletables.Writers, c *client.Client, base string, builds []tally.Build) error {
	for i := range builds {
		b := &builds[i]
		if err := collectedBuild(ctx, w, c, base, b); err != nil {
			return fmt.Errorf("build %s of %s: %w", b.Build, b.Program, err)
		}
	}
	return nil
}

func collectedBuild(ctx context.Context, w *profiletables.Writers, c *client.Client, base string, b *tally.Build) error {
	days := make([]profiletables.Day, 0, len(b.Days))
	for _, d := range b.Days {
		days = append(days, profiletables.Day{Program: b.Program, Build: b.Build, Day: d.Day, Files: int64(d.Files)})
	}
	if err := w.Days.Write(days...); err != nil {
		return err
	}
	if b.Logs > 0 {
		if err := collectedSpikes(ctx, w, c, base, b); err != nil {
			return err
		}
	}
	if !b.Mapped {
		return w.Builds.Write(collected(profiletables.Build{Program: b.Program, Build: b.Build}, b))
	}
	data, err := c.Get(ctx, client.ProfileURL(base, b), maxProfile)
	if err != nil {
		return err
	}
	p, err := mip.ReadProfile(data)
	if err == nil && len(p.Modules) != 1 {
		err = errors.New("the profile has several modules")
	}
	if err != nil {
		return err
	}
	return writeModule(w, &p.Modules[0], collected(profiletables.BuildOf(&p.Modules[0]), b))
}

// collected returns a row of builds with the data of a collector.
func collected(row profiletables.Build, b *tally.Build) profiletables.Build {
	row.Uploads, row.Waiting, row.Logs = int64(b.Uploads), int64(b.Waiting), int64(b.Logs)
	if b.First != 0 {
		row.First, row.Last = &b.First, &b.Last
	}
	return row
}

func collectedSpikes(ctx context.Context, w *profiletables.Writers, c *client.Client, base string, b *tally.Build) error {
	r, err := c.Report(ctx, base, b)
	if err != nil {
		return err
	}
	rows := make([]profiletables.Spike, 0, len(r.Spikes))
	for _, sp := range r.Spikes {
		rows = append(rows, profiletables.Spike{
			Program: b.Program, Build: b.Build, Function: sp.Function, Count: int64(sp.Count), Processes: int64(sp.Logs),
			Median: int64(sp.Median), P99: int64(sp.P99), Worst: int64(sp.Worst), Log: sp.Log,
		})
	}
	return w.Spikes.Write(rows...)
}
