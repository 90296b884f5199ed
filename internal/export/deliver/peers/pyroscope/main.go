// Command pyroscope sends a profile to Pyroscope with the client of its authors.
package main

import (
	"log"
	"os"
	"time"

	"github.com/grafana/pyroscope-go/upstream"
	"github.com/grafana/pyroscope-go/upstream/remote"
)

type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Debugf(string, ...any) {}
func (logger) Errorf(format string, args ...any) {
	log.Fatalf(format, args...)
}

func main() {
	file, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	r, err := remote.NewRemote(remote.Config{Address: os.Args[1], Timeout: time.Minute, Threads: 1, Logger: logger{}})
	if err != nil {
		log.Fatal(err)
	}
	r.Start()
	now := time.Now()
	r.Upload(&upstream.UploadJob{
		Name: "app{build_id=1f3c}", StartTime: now.Add(-time.Second), EndTime: now, SpyName: "gospy", Format: upstream.FormatPprof, Profile: file,
		SampleTypeConfig: map[string]*upstream.SampleType{"calls": {Units: "count", DisplayName: "calls", Aggregation: "sum", Cumulative: true, Sampled: true}},
	})
	r.Flush()
	r.Stop()
}
