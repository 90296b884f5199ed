package gobuild

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/gobuild/elfimage"
	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/image"
	"github.com/cairnprof/cairn/internal/gobuild/linkmap"
	"github.com/cairnprof/cairn/internal/gobuild/machoimage"
	"github.com/cairnprof/cairn/internal/gobuild/peimage"
	"github.com/cairnprof/cairn/internal/gobuild/percpu"
)

// Report describes the result of a link, for the summary of the command.
type Report struct {
	Program string // import path
	BuildID string
	linkmap.Summary
	Packages int
	Imports  []string // import paths of these packages
	Skipped  []string // functions without probes, with their package
	Plain    string   // why the program has no records; "" if it has
}

// link runs the linker and puts the map into its output.
func (t *tool) link() error {
	output, ok := t.flag("-o")
	config, hasConfig := t.flag("-importcfg")
	if !ok || !hasConfig {
		return t.run(t.args)
	}
	mode, _ := t.flag("-buildmode")
	report := Report{Program: os.Getenv("TOOLEXEC_IMPORTPATH")}
	if mode == "plugin" || mode == "shared" || mode == "c-archive" || mode == "c-shared" && t.cfg.Mode.Timed() {
		report.Plain = "the build mode is " + mode
		if err := t.run(t.args); err != nil {
			return err
		}
		return report.write()
	}
	tables, err := readTables(config)
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		report.Plain = "no function of it has a probe"
		if err := t.run(t.args); err != nil {
			return err
		}
		return report.write()
	}
	// The map is made from the symbol table, which is removed afterwards. In timed modes there
	// is no map: names are those of the symbol table.
	strip := slices.ContainsFunc(t.args, isStrip)
	args := slices.DeleteFunc(slices.Clone(t.args), isStrip)
	if strip && os.Getenv("GOOS") != "linux" {
		args = slices.Insert(args, 0, "-w") // as -s implies; the symbol table stays
	}
	if err := t.run(args); err != nil {
		return err
	}
	for _, table := range tables {
		report.Packages++
		report.Imports = append(report.Imports, table.Import)
		for _, s := range table.Skipped {
			report.Skipped = append(report.Skipped, table.Package+"."+s)
		}
	}
	if err := t.addMap(output, tables, strip, &report); err != nil {
		os.Remove(output)
		return fmt.Errorf("%s: %w", report.Program, err)
	}
	return report.write()
}

func isStrip(arg string) bool { return arg == "-s" || arg == "-s=true" || arg == "-s=1" }

// addMap puts the map into a linked program.
func (t *tool) addMap(path string, tables []*functable.Table, strip bool, report *Report) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parse(data)
	if err != nil {
		return err
	}
	if t.cfg.Mode.Timed() {
		return t.writeInfo(path, file, tables, report)
	}
	buildMode, _ := t.flag("-buildmode")
	linked, err := linkmap.Make(file, tables, buildMode == "c-shared")
	if errors.Is(err, linkmap.ErrNeighbour) || errors.Is(err, percpu.ErrForm) {
		report.Plain = err.Error() // without a build id, its runtime records nothing
		return nil
	}
	if err != nil {
		return err
	}
	report.Summary, report.BuildID = linked.Summary, linked.BuildID.String()
	out, err := file.Extend(linked.Sections, strip)
	if err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, out, st.Mode().Perm()); err != nil {
		return err
	}
	return keepMap(file, linked, report)
}

// parse reads a linked program.
func parse(data []byte) (image.Image, error) {
	switch {
	case machoimage.Is(data):
		return machoimage.Parse(data)
	case peimage.Is(data):
		return peimage.Parse(data)
	}
	return elfimage.Parse(data)
}

// writeInfo writes the data that the runtime needs into a linked program of a timed mode.
func (t *tool) writeInfo(path string, file image.Image, tables []*functable.Table, report *Report) error {
	linked, err := linkmap.Tell(file, tables, t.cfg.Threshold.Nanoseconds())
	if err != nil {
		return err
	}
	report.Summary, report.BuildID = linked.Summary, linked.BuildID.String()
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := file.Bytes()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, st.Mode().Perm()); err != nil {
		return err
	}
	if dir := os.Getenv(MapsVar); dir != "" {
		// The go command removes the program, which has the names of functions.
		return writeMap(dir, report, data)
	}
	return nil
}

// keepMap writes the map to a separate file, if the go command will remove the program.
func keepMap(file image.Image, linked *linkmap.Linked, report *Report) error {
	dir := os.Getenv(MapsVar)
	if dir == "" {
		return nil
	}
	data, err := file.Only(linked.Sections)
	if err != nil {
		return err
	}
	return writeMap(dir, report, data)
}

func writeMap(dir string, report *Report, data []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(report.Program), ".exe") + "." + report.BuildID + ".debug"
	return os.WriteFile(filepath.Join(dir, name), data, 0o666)
}

// readTables reads the lists of probes in the archives of a linker's configuration.
func readTables(config string) ([]*functable.Table, error) {
	f, err := os.Open(config)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var tables []*functable.Table
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "packagefile ")
		if !ok {
			continue
		}
		importPath, archive, _ := strings.Cut(rest, "=")
		table, err := readTable(archive)
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", importPath, err)
		}
		if table != nil {
			tables = append(tables, table)
		}
	}
	return tables, lines.Err()
}

func readTable(archive string) (*functable.Table, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return functable.Read(f, st.Size())
}

// write appends the report to the file of the command, if there is one.
func (r *Report) write() error {
	path := os.Getenv(ReportVar)
	if path == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
