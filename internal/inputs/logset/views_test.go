package logset

import (
	"io"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// TestViews: sums over an execution trace of Go have the time of its goroutines once, though processors show it again.
func TestViews(t *testing.T) {
	t.Parallel()
	running := func(sums bool) (goroutines, processors uint64) {
		t.Helper()
		f := Choice{Sums: sums}
		f.SetDefaults()
		set, err := f.Open(&verb.Streams{Out: io.Discard, Err: io.Discard}, []string{"../../../format/gotrace/testdata/go1.26.trace"}, &report.Names{})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		res, err := account.Run(t.Context(), set.Logs[0], f.Options)
		if err != nil {
			t.Fatal(err)
		}
		for _, fn := range account.Functions(res.Merged()) {
			switch name := set.Funcs.Name(fn.Func); {
			case name == "running":
				goroutines += fn.Total
			case strings.HasPrefix(name, "runs "):
				processors += fn.Total
			}
		}
		return goroutines, processors
	}
	if g, p := running(true); g == 0 || p != 0 {
		t.Errorf("sums have %d ns of goroutines that run, and %d ns of processors that run them", g, p)
	}
	if g, p := running(false); g == 0 || p == 0 {
		t.Errorf("the time line has %d ns of goroutines that run, and %d ns of processors that run them", g, p)
	}
}
