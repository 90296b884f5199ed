package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	defaultFleetSizes  = "10000,100000,1000000"
	defaultFleetBuilds = "1000,100000"
)

// fleetCases are the benchmarks of internal/cli/collect, which start the collectors in processes of their
// own and send from another.
var fleetCases = []struct{ nodes, uploads, builds string }{
	{"1", "^BenchmarkUploads$", "^BenchmarkBuilds$/^directory$"},
	{"1, object store", "^BenchmarkStore$/^1$", "^BenchmarkBuilds$/^store$/^1$"},
	{"3, object store", "^BenchmarkStore$/^3$", "^BenchmarkBuilds$/^store$/^3$"},
}

// fleetRow is what a benchmark measured.
type fleetRow struct {
	nodes        string
	runs         int64
	perSecond    float64
	memory, disk float64 // MB: of the largest process, and of all directories
	cpu          float64 // seconds of all collectors
}

// fleet measures how collectors grow with the runs that are sent, and writes FLEET.md.
func (b *bench) fleet(ctx context.Context) error {
	bin := filepath.Join(b.out, "collect.test")
	if _, err := output(ctx, b.root, "go", "test", "-c", "-o", bin, "./internal/cli/collect"); err != nil {
		return err
	}
	var rows []fleetRow
	for _, c := range fleetCases {
		for size := range strings.SplitSeq(b.fleets.sizes, ",") {
			fmt.Fprintf(b.log, "collectors: %s, %s runs\n", c.nodes, size)
			runs, metrics, err := fleetBench(ctx, b, bin, c.uploads+"/^10_in_each$", size)
			if err != nil {
				return err
			}
			row := fleetRow{c.nodes, runs, metrics["files/s"], metrics["MB-memory"], metrics["MB-disk"], metrics["cpu-s"]}
			if row.perSecond == 0 || row.memory == 0 || row.cpu == 0 {
				return fmt.Errorf("a metric is missing, with collectors: %s: %v", c.nodes, metrics)
			}
			fmt.Fprintf(b.log, "%+v\n", row)
			rows = append(rows, row)
		}
	}
	builds := [][]string{{"collectors", "builds", "builds/s", "memory, MB", "disk, MB", "start, s", "memory after the start, MB"}}
	for _, c := range fleetCases {
		for size := range strings.SplitSeq(b.fleets.builds, ",") {
			fmt.Fprintf(b.log, "collectors: %s, %s builds\n", c.nodes, size)
			n, metrics, err := fleetBench(ctx, b, bin, c.builds, size)
			if err != nil {
				return err
			}
			builds = append(builds, []string{
				c.nodes, thousands(n), fmt.Sprintf("%.0f", metrics["builds/s"]), fmt.Sprintf("%.0f", metrics["MB-memory"]),
				fmt.Sprintf("%.0f", metrics["MB-disk"]), fmt.Sprintf("%.1f", metrics["s-start"]), fmt.Sprintf("%.0f", metrics["MB-start"]),
			})
			fmt.Fprintln(b.log, builds[len(builds)-1])
		}
	}
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Collectors and the number of runs", fleetHead, nil)
	writeFleet(&text, rows)
	text.WriteString(fleetBuildsHead)
	table(&text, builds)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil || b.fleets.sizes != defaultFleetSizes || b.fleets.builds != defaultFleetBuilds {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "FLEET.md"), text.Bytes(), 0o644)
}

const fleetHead = `32 senders send runs of a program of 1,000 functions in mode order (3 kB each, 1.2 kB compressed), ten in
each upload, to cairn collect with its default settings. Senders and collectors share the machine; three
collectors are three processes on it, which share an object store there, Versity's S3 gateway. Memory is that of the largest collector, disk that
of all after they have ended, processor time that of all. At the end a profile of all runs is asked for.
`

// fleetFlags are those of the part fleet.
type fleetFlags struct {
	sizes  string // numbers of uploads, separated by commas
	builds string // numbers of builds, separated by commas
}

const fleetBuildsHead = `Builds with 200 functions, of which the map and one run are sent, a hundred builds in an upload from one sender. Then the
first collector is killed and started again; the time is that until it has listed all builds. ` + "`--max-memory`" + ` is the default, 512 MB.

`

var fleetMetric = regexp.MustCompile(`([0-9.e+]+) (\S+)`)

// fleetBench runs a benchmark of cairn collect, and returns its size and its metrics.
func fleetBench(ctx context.Context, b *bench, bin, name, size string) (int64, map[string]float64, error) {
	cmd := command(ctx, filepath.Join(b.root, "internal", "cli", "collect"), []string{"TMPDIR=" + b.out}, bin,
		"-test.run", "^$", "-test.bench", name, "-test.benchtime", size+"x", "-test.timeout", "6h")
	text, err := finish(cmd)
	if err != nil {
		return 0, nil, err
	}
	_, line, ok := strings.Cut(text, "Benchmark")
	if !ok {
		return 0, nil, fmt.Errorf("no result in %q", text)
	}
	line, _, _ = strings.Cut(line, "\n")
	fields := strings.Fields(line)
	n, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, nil, err
	}
	metrics := map[string]float64{}
	for _, m := range fleetMetric.FindAllStringSubmatch(strings.Join(fields[2:], " "), -1) {
		if metrics[m[2]], err = strconv.ParseFloat(m[1], 64); err != nil {
			return 0, nil, err
		}
	}
	return n, metrics, nil
}

// writeFleet writes the measurements, and the memory that a million runs add: from the difference of the two
// largest sizes, as smaller ones show the start of a process and the segments that wait to be removed.
func writeFleet(text *bytes.Buffer, rows []fleetRow) {
	measured := [][]string{{"collectors", "runs", "runs/s", "memory, MB", "disk, MB", "CPU, ms a run"}}
	for _, r := range rows {
		measured = append(measured, []string{
			r.nodes, thousands(r.runs), fmt.Sprintf("%.0f", r.perSecond), fmt.Sprintf("%.0f", r.memory), fmt.Sprintf("%.1f", r.disk),
			fmt.Sprintf("%.2f", r.cpu*1000/float64(r.runs)),
		})
	}
	table(text, measured)
	more := [][]string{{"collectors", "from", "to", "memory for a million more, MB"}}
	for i := 1; i < len(rows); i++ {
		a, z := rows[i-1], rows[i]
		largest := i+1 == len(rows) || rows[i+1].nodes != z.nodes
		if largest && a.nodes == z.nodes && z.runs != a.runs {
			more = append(more, []string{a.nodes, thousands(a.runs), thousands(z.runs), fmt.Sprintf("%.0f", (z.memory-a.memory)*1e6/float64(z.runs-a.runs))})
		}
	}
	if len(more) > 1 {
		table(text, more)
	}
}
