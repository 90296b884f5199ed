package collect

import (
	"context"
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

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
)

// BenchmarkUploads sends runs of a program of 1,000 functions from 32 senders to a collector in
// a process of its own, some in each upload, and asks for the profile at the end:
//
//	go test ./internal/cli/collect -run '^$' -bench Uploads -benchtime 1000000x
func BenchmarkUploads(b *testing.B) {
	for _, each := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d in each", each), func(b *testing.B) { benchmarkUploads(b, each) })
	}
}

func benchmarkUploads(b *testing.B, each int) {
	const senders = 32
	dir := b.TempDir()
	p := start(b, dir)
	program := fleettest.NewProgram("app", "\x01\x02", 1000)
	if err := send(p.url, program.MapFile(b)); err != nil {
		b.Fatal(err)
	}
	c := client.New("")
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range senders {
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
					_, err = c.Send(context.Background(), p.url, body)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := c.Get(context.Background(), p.url+"/app", 1<<30); err != nil {
		b.Error(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
	b.ReportMetric(float64(peakMemory(p.cmd.Process.Pid))/1e6, "MB-memory")
	if err := p.end(syscall.SIGTERM); err != nil {
		b.Errorf("%v: %s", err, &p.talk)
	}
	b.ReportMetric(float64(size(b, dir))/1e6, "MB-disk")
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
