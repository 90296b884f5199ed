package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// BenchmarkUploads sends runs of a program of 1,000 functions from 32 senders to a collector in
// a process of its own, some in each upload, and asks for the profile at the end:
//
//	go test ./internal/cli/collect -run '^$' -bench Uploads -benchtime 1000000x
func BenchmarkUploads(b *testing.B) {
	for _, each := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d in each", each), func(b *testing.B) {
			dir := b.TempDir()
			benchmarkUploads(b, each, []*process{start(b, dir)}, []string{dir})
		})
	}
}

func benchmarkUploads(b *testing.B, each int, nodes []*process, dirs []string) {
	const senders = 32
	program := fleettest.NewProgram("app", "\x01\x02", 1000)
	c := client.New("")
	submit := func(node int, body []byte) error {
		for {
			_, err := c.Send(context.Background(), nodes[node%len(nodes)].url, body)
			if err == nil || !client.Temporary(err) {
				return err
			}
			time.Sleep(50 * time.Millisecond) // the store may have closed the connection
		}
	}
	if err := submit(0, program.MapFile(b)); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for sender := range senders {
		wg.Go(func() {
			for {
				from := next.Add(int64(each)) - int64(each)
				if from >= int64(b.N) {
					return
				}
				var files []bundle.File
				for run := from; run < min(from+int64(each), int64(b.N)); run++ {
					files = append(files, bundle.File{Data: program.Run(b, uint64(run+1))})
				}
				body, err := bundle.Append(nil, files)
				if err == nil {
					err = submit(sender, body)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := c.Get(context.Background(), nodes[0].url+"/app", 1<<30); err != nil {
		b.Error(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
	memory, disk, cpu := int64(0), int64(0), time.Duration(0)
	for _, p := range nodes {
		memory = max(memory, peakMemory(p.cmd.Process.Pid))
	}
	for _, p := range nodes {
		p.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // Wait tells
	}
	for i, p := range nodes {
		p.cmd.Wait() //nolint:errcheck // what it used is all that counts
		disk += size(b, dirs[i])
		cpu += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(memory)/1e6, "MB-memory")
	b.ReportMetric(float64(disk)/1e6, "MB-disk")
	b.ReportMetric(cpu.Seconds(), "cpu-s")
}

// peakMemory returns the most memory that a process had, in bytes.
func peakMemory(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	kb, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kb << 10
}

// size returns the bytes of the files below a directory.
func size(b *testing.B, dir string) (sum int64) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		b.Error(err)
	}
	return sum
}

// BenchmarkBuilds sends the maps of builds of 200 functions and a run of each, a hundred builds in an upload, to one or
// several collectors in turn, kills the first, and starts it again:
//
//	go test ./internal/cli/collect -run '^$' -bench Builds/directory -benchtime 100000x
func BenchmarkBuilds(b *testing.B) {
	b.Run("directory", func(b *testing.B) {
		dir := b.TempDir()
		benchmarkBuilds(b, dir, []*process{start(b, dir)}, func() *process { return start(b, dir) })
	})
	for _, nodes := range []int{1, 3} {
		b.Run(fmt.Sprintf("store/%d", nodes), func(b *testing.B) {
			c := (&trio{t: b}).startSome(nodes)
			benchmarkBuilds(b, c.store.Root, c.nodes[:nodes], func() *process {
				c.start(0)
				return c.nodes[0]
			})
		})
	}
}

// merged lists the builds of a collector when all that was sent to any of them is merged.
func merged(c *client.Client, p *process) (list []tally.Build, err error) {
	for range 100 {
		list, _, err = c.Builds(context.Background(), p.url)
		if e := (*client.Error)(nil); !errors.As(err, &e) || !e.Temporary() {
			break
		}
	}
	return list, err
}

func benchmarkBuilds(b *testing.B, dir string, nodes []*process, restart func() *process) {
	const each, functions = 100, 200
	c := client.New("")
	build := func(n int) *fleettest.Program {
		return fleettest.NewProgram("app", prof.BuildID(fmt.Sprintf("build %08d", n)), functions)
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += each {
		var files []bundle.File
		for i := n; i < min(n+each, b.N); i++ {
			files = append(files, bundle.File{Data: build(i).MapFile(b)}, bundle.File{Data: build(i).Run(b, uint64(i+1))})
		}
		body, err := bundle.Append(nil, files)
		for err == nil {
			if _, err = c.Send(context.Background(), nodes[n/each%len(nodes)].url, body); err == nil {
				break
			}
			if client.Temporary(err) {
				time.Sleep(50 * time.Millisecond)
				err = nil
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, p := range nodes {
		if list, err := merged(c, p); err != nil || len(list) != b.N {
			b.Fatalf("%d builds: %v", len(list), err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "builds/s")
	memory := int64(0)
	for _, p := range nodes {
		memory = max(memory, peakMemory(p.cmd.Process.Pid))
	}
	b.ReportMetric(float64(memory)/1e6, "MB-memory")
	nodes[0].end(syscall.SIGKILL) //nolint:errcheck // it is killed
	began := time.Now()
	p := restart()
	list, err := merged(c, p)
	if err != nil || len(list) != b.N {
		b.Fatalf("%d builds after the start: %v", len(list), err)
	}
	b.ReportMetric(time.Since(began).Seconds(), "s-start")
	b.ReportMetric(float64(peakMemory(p.cmd.Process.Pid))/1e6, "MB-start")
	if _, err := c.Get(context.Background(), p.url+"/app@"+build(b.N/2).BuildID.String(), 1<<30); err != nil {
		b.Error(err)
	}
	nodes[0] = p
	for _, p := range nodes {
		if err := p.end(syscall.SIGTERM); err != nil {
			b.Error(err)
		}
	}
	b.ReportMetric(float64(size(b, dir))/1e6, "MB-disk")
}
