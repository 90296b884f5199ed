package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// profdata merges LLVM's profiles of a training.
func (s *startupGuest) profdata(ctx context.Context, t training) (string, error) {
	out := s.file("llvm." + t.String() + ".profdata")
	argv := []string{"llvm-profdata-22", "merge", "-o", out}
	for i := range t.n {
		if t.has(i) {
			argv = append(argv, s.profraw(i))
		}
	}
	_, err := output(ctx, "", argv...)
	return out, err
}

// profile merges cairn's profiles of a training.
func (s *startupGuest) profile(ctx context.Context, t training) (string, error) {
	out := s.file("cairn." + t.String() + ".mip")
	argv := []string{s.b.cairn, "merge", "-o", out, s.ours.path}
	for i := range t.n {
		if t.has(i) {
			argv = append(argv, s.raws(i))
		}
	}
	_, err := output(ctx, "", argv...)
	return out, err
}

func (s *startupGuest) byOrderFile(ctx context.Context, name, file string) (*layout, error) {
	return s.plain.link(ctx, name, startupLink+" -Wl,--symbol-ordering-file="+file+",--no-warn-symbol-ordering")
}

// llvmOrder links by what llvm-profdata makes of LLVM's temporal profile.
func (s *startupGuest) llvmOrder(ctx context.Context, t training) (*layout, error) {
	data, err := s.profdata(ctx, t)
	if err != nil {
		return nil, err
	}
	file := s.file("llvm." + t.String() + ".order")
	if _, err := output(ctx, "", "llvm-profdata-22", "order", data, "-o", file); err != nil {
		return nil, err
	}
	return s.byOrderFile(ctx, "llvmorder", file)
}

// lldSort has lld order by LLVM's temporal profile itself.
func (s *startupGuest) lldSort(ctx context.Context, t training) (*layout, error) {
	data, err := s.profdata(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.plain.link(ctx, "lldsort", startupLink+" -Wl,--irpgo-profile="+data+",--bp-startup-sort=function")
}

// orderBy links by cairn order.
func (s *startupGuest) orderBy(algorithm string) func(context.Context, training) (*layout, error) {
	return func(ctx context.Context, t training) (*layout, error) {
		profile, err := s.profile(ctx, t)
		if err != nil {
			return nil, err
		}
		file := s.file("cairn." + algorithm + "." + t.String() + ".order")
		if _, err := output(ctx, "", s.b.cairn, "order", "-p", profile, "--algorithm", algorithm, "--binary", s.base.path, "-o", file); err != nil {
			return nil, err
		}
		return s.byOrderFile(ctx, "cairn-"+algorithm, file)
	}
}

// use builds the program by a profile: ordered, and with cold blocks split off.
func (s *startupGuest) use(ctx context.Context, t training) (*layout, error) {
	profile, err := s.profile(ctx, t)
	if err != nil {
		return nil, err
	}
	tree, err := s.copied(ctx, "use", s.b.cairn+" cc --use "+profile+" "+startupCC, startupCFlags, startupLink)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tree.dir)
	l, err := tree.keep(ctx, "use")
	if err != nil {
		return nil, err
	}
	for i := range s.g.scenarios {
		sc := &s.g.scenarios[i]
		want, err := s.exec(ctx, s.base, sc)
		if err != nil {
			return nil, err
		}
		if got, err := s.exec(ctx, l, sc); err != nil || got != want {
			return nil, fmt.Errorf("scenario %s goes wrong in the split program: %w", sc.name, err)
		}
	}
	return l, nil
}

// result returns what was measured.
func (s *startupGuest) result() *startupResult {
	r := &startupResult{
		Name: s.g.name, Revision: strings.TrimSpace(s.b.revision),
		Text: s.base.text, Scenarios: len(s.g.scenarios), Rows: s.rows,
	}
	for _, v := range []struct {
		name string
		l    *layout
	}{{"LLVM, temporal", s.llvm}, {"cairn, block+order", s.ours}} {
		r.Instrumented = append(r.Instrumented, []string{
			v.name, percent(growth(v.l.text, s.base.text)), percent(growth(s.stripped(v.l), s.stripped(s.base))),
		})
	}
	return r
}

func (r *startupResult) row(name string) *startupRow {
	for i := range r.Rows {
		if r.Rows[i].Name == name {
			return &r.Rows[i]
		}
	}
	panic("no row " + name)
}

// report writes the tables of a program.
func (r *startupResult) report(w io.Writer) {
	fmt.Fprintf(w, "## %s\n\n%s bytes of code, %d pages; %d scenarios; cairn %s\n\n",
		r.Name, thousands(r.Text), (r.Text+4095)/4096, r.Scenarios, r.Revision)
	rows := [][]string{{"layout", "pages touched", "held out", "major faults, cold", "code, bytes"}}
	for i := range r.Rows {
		row, cold := &r.Rows[i], "-"
		if row.Cold >= 0 {
			cold = fmt.Sprintf("%.1f", row.Cold)
		}
		rows = append(rows, []string{row.Name, fmt.Sprintf("%.1f", row.In), fmt.Sprintf("%.1f", row.Out), cold, thousands(row.Text)})
	}
	table(w, rows)
	if r.Rows[0].Starts != nil {
		table(w, startRows(r.Rows))
	} else {
		fmt.Fprint(w, "Starts from a device were not measured: that takes the right to mount a file system.\n\n")
	}
	table(w, append([][]string{{"instrumented", "code", "stripped file"}}, r.Instrumented...))
}

// stripped returns the size of a stripped copy.
func (s *startupGuest) stripped(l *layout) int64 {
	path := filepath.Join(s.b.out, "guests", "stripped")
	if _, err := output(context.Background(), "", "strip", "-o", path, l.path); err != nil {
		return 0
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
