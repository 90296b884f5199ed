package callfile

import (
	"fmt"
	"testing"

	"github.com/cairnprof/cairn/calllog"
)

// TestProcessIDs checks ids of processes, by which alone viewers know them.
func TestProcessIDs(t *testing.T) {
	t.Parallel()
	log := func(pids ...uint32) calllog.Log {
		m := &calllog.Memory{}
		for _, pid := range pids {
			m.List = append(m.List, calllog.Thread{PID: pid, TID: 1})
			m.Content = append(m.Content, nil)
		}
		return m
	}
	for _, test := range []struct {
		logs []calllog.Log
		want string
	}{
		{[]calllog.Log{log(0, 7, 8), log(7, 9)}, "[map[0:10 7:7 8:8] map[7:11 9:9]]"},
		{[]calllog.Log{log(5), log(5), log(6)}, "[map[5:5] map[5:7] map[6:6]]"},
		{[]calllog.Log{log(1, 1<<31, 1<<31-1, 1<<31-2)}, "[map[1:1 2147483646:2147483646 2147483647:2147483647 2147483648:2]]"},
	} {
		if got := fmt.Sprint(processIDs(test.logs)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestConvertFormat checks that the longest suffix selects the format.
func TestConvertFormat(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]string{
		"a.json": "chrome", "a.JSON.gz": "chrome", "a.speedscope.json": "speedscope", "x/a.pb.gz": "pprof", "a.pb.zst": "pprof",
		"a.perfetto-trace": "perfetto", "a.folded": "folded", "a.yaml.zst": "yaml", "a.parquet": "parquet",
	} {
		f := Choice{Out: out}
		if x, err := f.Format(); err != nil || x.Name != want {
			t.Errorf("%s is %v, %v; want %s", out, x, err, want)
		}
	}
	for _, f := range []Choice{{Out: "-"}, {Out: "a.gz"}, {Out: "a.json", To: "xml"}, {Out: "json"}} {
		if x, err := f.Format(); err == nil {
			t.Errorf("%+v is %s", f, x.Name)
		}
	}
}
