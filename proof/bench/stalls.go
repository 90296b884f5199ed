package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stallResult is what the report of one server says about the stall that was planted in it.
type stallResult struct {
	server *stallServer
	why    string // it was not run
	took   time.Duration
	before int      // rows before that of the stall; -1: it has none
	found  string   // first words of its row
	first  []string // these rows
	rows   int
	wrong  []string // rows of waits during which no request was open
	idle   int      // places at which threads were idle
	late   struct {
		Time      uint64 `json:"time_ns"`
		Explained uint64 `json:"explained_ns"`
		Idle      uint64 `json:"idle_ns"`
	}
}

func (r *stallResult) explained() float64 {
	if r.late.Time == 0 {
		return 1
	}
	return float64(r.late.Explained) / float64(r.late.Time)
}

// stalls plants one stall in each of some servers of the system's packages, which are hooked and under load, and
// writes STALLS.md: whether the first row of cairn spikes is the stall, and what the other rows are.
func (b *bench) stalls(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "cairn-stalls-") // names of sockets must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	library := filepath.Join(dir, "stall.so")
	text, err := sources.ReadFile("c/stall.c")
	if err != nil {
		return err
	}
	source := filepath.Join(dir, "stall.c")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		return err
	}
	if _, err := output(ctx, "", "gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"); err != nil {
		return err
	}
	var all []*stallResult
	for i := range stallServers {
		s := &stallServers[i]
		if b.stallsOnly != "" && s.name != b.stallsOnly {
			continue
		}
		work := filepath.Join(dir, strconv.Itoa(i))
		r, err := b.stallIn(ctx, s, work, library)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(b.log, "%s: %s%d rows before it, %d of %d wrong, %.1f %% explained: %s\n", s.name, r.why, r.before, len(r.wrong), r.rows, 100*r.explained(), r.found)
		for _, w := range r.first {
			fmt.Fprintf(b.log, "   before: %s\n", w)
		}
		for _, w := range r.wrong {
			fmt.Fprintf(b.log, "   wrong: %s\n", w)
		}
		all = append(all, r)
	}
	if b.stallsOnly != "" {
		return nil
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "STALLS.md"), b.stallReport(ctx, all), 0o644)
}

// busy is when requests were open.
type busy struct {
	sync.Mutex
	open int
	from int64
	list [][2]int64
}

func (b *busy) begin() {
	b.Lock()
	defer b.Unlock()
	if b.open++; b.open == 1 {
		b.from = time.Now().UnixNano()
	}
}

func (b *busy) end() {
	b.Lock()
	defer b.Unlock()
	if b.open--; b.open == 0 {
		b.list = append(b.list, [2]int64{b.from, time.Now().UnixNano()})
	}
}

// within returns for which part of an interval requests were open.
func (b *busy) within(from, to int64) float64 {
	sum := int64(0)
	for _, x := range b.list {
		sum += max(0, min(x[1], to)-max(x[0], from))
	}
	return float64(sum) / float64(max(1, to-from))
}

// stallIn runs a server, loads it, plants the stall and judges the report.
func (b *bench) stallIn(ctx context.Context, s *stallServer, dir, library string) (*stallResult, error) {
	r := &stallResult{server: s, before: -1}
	for _, tool := range s.needs {
		if _, err := exec.LookPath(tool); err != nil {
			r.why = "not run: " + err.Error() + "; "
			return r, nil
		}
	}
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o777); err != nil {
		return nil, err
	}
	for _, d := range []string{dir, logs} {
		if err := os.Chmod(d, 0o777); err != nil { // servers have users of their own
			return nil, err
		}
	}
	flag := filepath.Join(dir, "stall")
	cmd, err := b.stallCommand(ctx, s, dir, logs, library)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "STALL="+s.stall, "STALL_FILE="+flag)
	cmd.Dir = dir
	if s.user != "" {
		cmd.Env = append(cmd.Env, "CAIRN_CACHE="+filepath.Join(dir, "cache"))
		if cmd.SysProcAttr, err = asUser(s.user); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, 20*time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var open busy
	from, to, err := s.load(ctx, dir, flag, &open)
	_ = cmd.Process.Signal(cmp.Or(s.end, syscall.SIGTERM))
	stopped := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // servers end with the signal
	stopped.Stop()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out.String())
	}
	r.took = time.Duration(to - from)
	report, err := output(ctx, "", b.cairn, "spikes", "--jsonl", logs)
	if err != nil {
		return nil, err
	}
	err = r.judge(report, from, to, &open)
	r.found = strings.ReplaceAll(r.found, dir+"/", "")
	return r, err
}

// stallCommand returns how to run a server: hooked, or built with probes.
func (b *bench) stallCommand(ctx context.Context, s *stallServer, dir, logs, library string) (*exec.Cmd, error) {
	if s.build {
		program, err := b.buildStalled(ctx, dir)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(program, stallAddress)
		cmd.Env = append(os.Environ(), "CAIRN_DIR="+logs)
		return cmd, nil
	}
	argv, err := s.prepare(ctx, dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(b.cairn, append([]string{"watch", "run", "--detours", "--threshold", "20ms", "--dir", logs, "--"}, argv...)...)
	cmd.Env = os.Environ()
	if s.stall != "" {
		cmd.Env = append(cmd.Env, "LD_PRELOAD="+library)
	}
	return cmd, nil
}

// buildStalled builds the server in Go, with probes.
func (b *bench) buildStalled(ctx context.Context, dir string) (string, error) {
	text, err := sources.ReadFile("c/stalled.go.txt")
	if err != nil {
		return "", err
	}
	for name, data := range map[string][]byte{"main.go": text, "go.mod": []byte("module example.com/stalled\n\ngo 1.25\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return "", err
		}
	}
	program := filepath.Join(dir, "stalled")
	_, err = output(ctx, dir, b.cairn, "go", "--mode", "spike", "--threshold", "20ms", "build", "-o", program, ".")
	return program, err
}

// waitingCalls are system calls in which programs wait for work.
var waitingCalls = []string{"epoll_wait", "epoll_pwait", "poll", "ppoll", "select", "pselect6", "accept", "accept4", "rt_sigsuspend", "pause", "wait4"}

// stallRow is a row of the report: spikes with one stack.
type stallRow struct {
	worst   uint64
	planted bool
	wrong   bool
	text    string
}

// stallLine is a line of the report: a call, a freeze of the process, or what the report can show.
type stallLine struct {
	Stack    int            `json:"stack_id"`
	Wall     int64          `json:"wall_ns"`
	Interval [2]int64       `json:"interval_ns"`
	Worst    uint64         `json:"worst_ns"`
	Limit    uint64         `json:"threshold_ns"`
	Frozen   int64          `json:"frozen_ns"`
	Awaited  int64          `json:"awaited_ns"`
	Caller   map[string]any `json:"caller"`
	Peak     struct {
		Function string `json:"function"`
	} `json:"peak"`
	Why struct {
		Text  string   `json:"text"`
		Slept [2]int64 `json:"slept_ns"`
		Idle  bool     `json:"waits_for_work"`
		Call  string   `json:"system_call"`
	} `json:"why"`
	Open struct {
		Text  string `json:"text"`
		Lasts bool   `json:"lasting"`
	} `json:"open"`
	Suspended bool    `json:"suspended"`
	Freeze    []int64 `json:"freeze_ns"`
	Reach     *struct {
		Late json.RawMessage `json:"late"`
	} `json:"reach"`
}

// ranked reports whether the report ranks a call.
func (o *stallLine) ranked() bool {
	return o.Interval[1] > 0 && !o.Why.Idle && !o.Open.Lasts && !o.Suspended && o.Interval[0]-o.Frozen-o.Awaited >= int64(o.Limit)
}

// judge reads the report as cairn spikes ranks it.
func (r *stallResult) judge(report string, from, to int64, open *busy) error {
	rows := make(map[string]*stallRow)
	idle := make(map[int]bool)
	lines := bufio.NewScanner(strings.NewReader(report))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var o stallLine
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		switch {
		case o.Reach != nil:
			if err := json.Unmarshal(o.Reach.Late, &r.late); err != nil {
				return err
			}
		case o.Freeze != nil:
			if took := o.Freeze[1] - o.Freeze[0]; r.server.stall == "" && r.server.freezes && took > (to-from)*9/10 && r.before < 0 {
				r.before, r.found = 0, fmt.Sprintf("freeze %d ms", took/1e6)
			}
		case o.Interval[1] > 0 && o.Why.Idle:
			idle[o.Stack] = true
		case o.ranked():
			key := fmt.Sprint(o.Stack, o.Caller != nil)
			if rows[key] == nil {
				rows[key] = &stallRow{worst: o.Worst}
			}
			rows[key].add(&o, from, to, open)
		}
	}
	r.idle = len(idle)
	r.rank(rows)
	return lines.Err()
}

// add adds a call to its row.
func (row *stallRow) add(o *stallLine, from, to int64, open *busy) {
	begin := o.Wall - o.Interval[1]
	text := fmt.Sprintf("%s: %s", o.Peak.Function, cmp.Or(o.Why.Text, o.Open.Text))
	if in := min(o.Wall, to) - max(begin, from); in > (to-from)*9/10 && o.Interval[0] > (to-from)*9/10 && o.Open.Text == "" {
		row.planted, row.text = true, text
		return
	}
	row.text = cmp.Or(row.text, text)
	row.wrong = row.wrong || o.Awaited == 0 && o.Why.Slept[0] > o.Interval[0]*8/10 && slices.Contains(waitingCalls, o.Why.Call) && open.within(begin, o.Wall) < .2
}

// rank looks for the planted stall among the rows.
func (r *stallResult) rank(rows map[string]*stallRow) {
	list := slices.SortedFunc(maps.Values(rows), func(a, b *stallRow) int { return cmp.Compare(b.worst, a.worst) })
	r.rows = len(list)
	for i, row := range list {
		if row.planted && r.before < 0 {
			r.before, r.found = i, row.text
		}
		if row.wrong && !row.planted {
			r.wrong = append(r.wrong, row.text)
		}
		if r.before < 0 {
			r.first = append(r.first, row.text)
		}
	}
}

// stallReport writes the table.
func (b *bench) stallReport(ctx context.Context, all []*stallResult) []byte {
	var w bytes.Buffer
	b.writeHead(ctx, &w, "Planted stalls that were found", stallNotes, [][]string{
		{"postgres", "pg_config", "--version"},
		{"memcached", "memcached", "--version"},
		{"redis", "redis-server", "--version"},
		{"nginx", "dpkg-query", "-W", "nginx"},
		{"mosquitto", "dpkg-query", "-W", "mosquitto"},
	})
	var late, explained uint64
	before, wrong := 0, 0
	rows := [][]string{{"server", "planted", "took", "rows before it", "its row", "late", "explained", "rows", "false rows", "idle places", "idle"}}
	for _, r := range all {
		if r.why != "" {
			rows = append(rows, []string{r.server.name, r.why, "", "", "", "", "", "", "", "", ""})
			before++
			continue
		}
		late, explained, wrong = late+r.late.Time, explained+r.late.Explained, wrong+len(r.wrong)
		place := fmt.Sprint(r.before)
		if r.before < 0 {
			place = "no row"
		}
		if r.before != 0 {
			before++
		}
		rows = append(rows, []string{
			r.server.name, r.server.plant, fmt.Sprintf("%d ms", r.took.Milliseconds()), place, r.found, fmt.Sprintf("%d ms", r.late.Time/1e6),
			fmt.Sprintf("%.1f %%", 100*r.explained()), fmt.Sprint(r.rows), fmt.Sprint(len(r.wrong)), fmt.Sprint(r.idle), fmt.Sprintf("%d ms", r.late.Idle/1e6),
		})
	}
	share := 1.0
	if late > 0 {
		share = float64(explained) / float64(late)
	}
	writeTargets(&w, []target{
		{"late time that rows explain", ">= 95 %", fmt.Sprintf("%.1f %%", 100*share), share >= .95},
		{"servers whose stall is not the first row", "0", fmt.Sprint(before), before == 0},
		{"false rows", "0", fmt.Sprint(wrong), wrong == 0},
	})
	table(&w, rows)
	return w.Bytes()
}

const stallNotes = `Servers of Debian's packages, hooked by
` + "`cairn watch run --detours --threshold 20ms`" + `, and one in Go, built by ` + "`cairn go --mode spike --threshold 20ms build`" + `
(c/stalled.go.txt), under requests that come in bursts. One stall is planted in each: by a library
that is loaded before the C library (c/stall.c), by another client, or by a signal. Rows before it are those that cairn spikes
prints first. A row is false if its spike mainly waited for events, and requests were open for less than a fifth of its time.`
