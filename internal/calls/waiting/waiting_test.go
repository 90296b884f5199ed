package waiting

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Functions of the tries.
const (
	mainMain calllog.FuncID = iota + 1
	serve
	handle
	channel
	lock
	waitGroup
)

var names = map[calllog.FuncID]string{mainMain: "main.main", serve: "serve", handle: "handle", channel: "channel", lock: "lock"}

func waitOf(fn calllog.FuncID) string {
	return map[calllog.FuncID]string{channel: calllog.WaitChannel, lock: "a lock", waitGroup: calllog.WaitGroup}[fn]
}

func isMain(fn calllog.FuncID) bool { return fn == mainMain }

// call is a stack with its costs.
type call struct {
	stack             []calllog.FuncID
	calls, open, self uint64
}

func trie(calls ...call) *calltrie.Trie {
	t := calltrie.New()
	for _, c := range calls {
		at := calltrie.Root
		for _, fn := range c.stack {
			at = t.Child(at, fn)
			t.Node(at).Total += c.self
		}
		n := t.Node(at)
		n.Calls, n.Open, n.Self = c.calls, c.open, c.self
	}
	return t
}

func stack(fns ...calllog.FuncID) []calllog.FuncID { return fns }

func TestMarkIdle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		calls []call
		want  uint64
	}{
		{"main waits for a signal", []call{{stack(mainMain), 1, 1, 5}, {stack(mainMain, channel), 1, 1, 100}}, 100},
		{"what main calls waits", []call{{stack(mainMain), 1, 1, 5}, {stack(mainMain, serve), 1, 1, 0}, {stack(mainMain, serve, channel), 20, 1, 100}}, 0},
		{"main waits for a lock", []call{{stack(mainMain), 1, 1, 5}, {stack(mainMain, lock), 1, 1, 100}}, 0},
		{"a worker that main started waits for jobs", []call{{stack(mainMain), 0, 0, 0}, {stack(mainMain, serve), 2, 2, 5}, {stack(mainMain, serve, channel), 16, 2, 100}}, 100},
		{"a worker with few jobs", []call{{stack(mainMain), 0, 0, 0}, {stack(mainMain, serve), 2, 2, 5}, {stack(mainMain, serve, channel), 15, 2, 100}}, 0},
		{"requests that wait often", []call{{stack(serve), 0, 0, 0}, {stack(serve, handle), 10, 1, 5}, {stack(serve, handle, channel), 90, 1, 100}}, 0},
		{"nothing", nil, 0},
	} {
		tr := trie(tc.calls...)
		MarkIdle(tr, waitOf, isMain)
		sum := uint64(0)
		for _, n := range tr.Nodes() {
			sum += n.Idle
		}
		if sum != tc.want {
			t.Errorf("%s: %d idle, not %d", tc.name, sum, tc.want)
		}
	}
}

// write returns the stacks of a trie, with calls, total and self.
func write(t *calltrie.Trie) string {
	var lines []string
	for id, n := range t.Nodes() {
		var path []string
		for _, fn := range t.Stack(id) {
			path = append(path, names[fn])
		}
		lines = append(lines, strings.Join(path, ";")+" "+strings.Join([]string{number(n.Calls), number(n.Total), number(n.Self)}, " "))
	}
	return strings.Join(lines, "\n")
}

func number(n uint64) string {
	text := ""
	for ; n > 0; n /= 10 {
		text = string(rune('0'+n%10)) + text
	}
	if text == "" {
		return "0"
	}
	return text
}

// TestForThreads checks that waits for other threads come behind shorter ones.
func TestForThreads(t *testing.T) {
	t.Parallel()
	d := Divide(trie(call{stack(mainMain, waitGroup), 1, 0, 500}, call{stack(serve, lock), 1, 0, 100}, call{stack(serve, channel), 1, 0, 200}), waitOf)
	var got []string
	for _, s := range d.Sums {
		got = append(got, s.For)
	}
	if want := "a channel, a lock, a WaitGroup"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestSplit checks that the parts have all of the time, each once.
func TestSplit(t *testing.T) {
	t.Parallel()
	tr := trie(
		call{stack(mainMain), 1, 1, 10}, call{stack(mainMain, channel), 1, 1, 1000},
		call{stack(mainMain, serve), 2, 0, 20}, call{stack(mainMain, serve, lock), 3, 0, 300}, call{stack(mainMain, serve, channel), 1, 0, 400},
		call{stack(mainMain, serve, handle), 2, 0, 30}, call{stack(mainMain, serve, handle, lock), 2, 0, 70},
	)
	MarkIdle(tr, waitOf, isMain)
	d := Divide(tr, waitOf)
	if d.Processor != 60 || d.Waiting() != 770 || d.Idle() != 1000 || d.All() != tr.Node(1).Total {
		t.Errorf("%d on a processor, %d waiting, %d idle of %d", d.Processor, d.Waiting(), d.Idle(), tr.Node(1).Total)
	}
	if s := d.Sums[0]; s != (Sum{calllog.WaitChannel, 2, 1400, 1000, serve, 400}) {
		t.Errorf("first sum %+v", s)
	}
	if s := d.Sums[1]; s != (Sum{"a lock", 5, 370, 0, serve, 300}) {
		t.Errorf("second sum %+v", s)
	}
	for p, want := range map[Part]string{
		Processor: "main.main 1 60 10\nmain.main;serve 2 50 20\nmain.main;serve;handle 2 30 30",
		Waiting: "lock 5 370 0\nlock;main.main 5 370 0\nlock;main.main;serve 5 370 300\n" +
			"channel 1 400 0\nchannel;main.main 1 400 0\nchannel;main.main;serve 1 400 400\nlock;main.main;serve;handle 2 70 70",
		Idle: "channel 1 1000 0\nchannel;main.main 1 1000 1000",
	} {
		if got := write(d.Split(p)); got != want {
			t.Errorf("%v:\n%s\nwant\n%s", p, got, want)
		}
	}
	if Divide(trie(call{stack(mainMain), 1, 0, 10}), waitOf) != nil {
		t.Error("a trie without waits is divided")
	}
}
