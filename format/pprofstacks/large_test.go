package pprofstacks

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/pprof"
)

// TestLarge reads a time that has too many nanoseconds for 64 bits, and the largest one that has not.
func TestLarge(t *testing.T) {
	t.Parallel()
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "seconds"}}}
	for _, v := range []int64{1 << 55, 9_223_372_036} {
		p.Sample = append(p.Sample, &pprof.Sample{Value: []int64{v}})
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	got := show(b.Bytes())
	if !strings.HasPrefix(got, "cpu 9223372036000000000 ns of 0:\n! ") || !strings.Contains(got, "a value of cpu is more than 292 years") {
		t.Errorf("got\n%s", got)
	}
}
