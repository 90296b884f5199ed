package gate

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/internal/binary/debuginfod"
	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/fleet/view"
	"github.com/cairnprof/cairn/prof"
)

// spikeLog returns the log of a process of a program, with spikes of these durations in the
// function at 0x1010.
func spikeLog(pid uint32, program string, build prof.BuildID, durations ...uint64) []byte {
	w := tracelogtest.New(tracelog.Header{PID: pid, Realtime: 1e18, Monotonic: 1, TSCHz: 1e9})
	w.Module(&tracelog.Module{Number: 1, Bias: 0x500000, Start: 0x500000, End: 0x600000, BuildID: []byte(build), Path: "/opt/" + program, Main: true, Instrumented: true})
	for i, d := range durations {
		w.Episode(&tracelog.Episode{
			TID: pid, Number: uint64(i + 1), Time: uint64(i+1) * 1e9, Peak: tracelog.Interval{Lo: d, Hi: d + 1000}, Threshold: 1e6, Found: 1,
			Stack: []tracelog.Entry{{PC: 0x501014, Time: tracelog.Interval{Lo: d, Hi: d + 1000}}},
		})
	}
	w.Close()
	return w.Bytes()
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestLogs checks that logs are stored, counted once and returned unchanged, and that their
// spikes are summed by function.
func TestLogs(t *testing.T) {
	t.Parallel()
	url, c := serve(t, nil)
	program := fleettest.NewProgram("app", "\xab\xcd", 30)
	ask(t, http.MethodPost, url+"/v1/files", program.MapFile(t))
	first := spikeLog(1, "app", program.BuildID, 5e6, 20e6)
	for _, log := range [][]byte{first, spikeLog(2, "app", program.BuildID, 7e6), first} {
		if status, text := ask(t, http.MethodPost, url+"/v1/files", log); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	for range 2 { // before and after a snapshot
		_, text := ask(t, http.MethodGet, url+"/v1/logs/abcd", nil)
		logs := decode[struct{ Logs []tally.Log }](t, text).Logs
		if len(logs) != 2 || logs[0].Kind != "spikes" {
			t.Fatalf("logs: %s", text)
		}
		if _, got := ask(t, http.MethodGet, url+"/v1/logs/abcd/"+logs[0].Key.String(), nil); got != string(first) {
			t.Error("a log comes back changed")
		}
		_, text = ask(t, http.MethodGet, url+"/v1/view/app@abcd", nil)
		spikes := decode[view.Report](t, text).Spikes
		if len(spikes) != 1 || spikes[0].Function != "f1" || spikes[0].Count != 3 || spikes[0].Logs != 2 || spikes[0].Worst != 20e6 || spikes[0].Median < 6e6 || spikes[0].Median > 7e6 {
			t.Errorf("spikes: %+v", spikes)
		}
		if err := c.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	for path, status := range map[string]int{
		"/v1/logs/abce": 404, "/v1/logs/xyz": 400, "/v1/logs/abcd/00": 404, "/v1/logs/abcd/" + strings.Repeat("0", 32): 404, "/view/none": 404,
	} {
		if got, text := ask(t, http.MethodGet, url+path, nil); got != status {
			t.Errorf("%s: %d %s", path, got, text)
		}
	}
	if status, _ := ask(t, http.MethodPost, url+"/v1/files", spikeLog(3, "app", "")); status == http.StatusOK {
		t.Error("a log without a build id is taken")
	}
}

// TestView checks that the report of a build has what ran, what did not, and what the previous
// build did not have.
func TestView(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	old, now := fleettest.NewProgram("app", "\x01", 30), fleettest.NewProgram("app", "\x02", 32)
	for i, p := range []*fleettest.Program{old, now} {
		ask(t, http.MethodPost, url+"/v1/files", p.MapFile(t))
		for run := range 3 - 2*i {
			ask(t, http.MethodPost, url+"/v1/files", p.Run(t, uint64(10*i+run+1)))
		}
	}
	_, text := ask(t, http.MethodGet, url+"/v1/view/app", nil)
	r := decode[view.Report](t, text)
	if r.Build != "02" || r.Runs != 1 || r.Functions != 32 || r.Executed+len(r.Never) != 32 || r.Executed == 0 || len(r.Never) == 0 {
		t.Errorf("report: %s", text)
	}
	if r.Change == nil || r.Change.Before != "01" || len(r.Change.Added) != 2 || len(r.Change.Removed) != 0 {
		t.Errorf("change: %+v", r.Change)
	}
	sum := 0
	for _, b := range r.Bands {
		sum += b.Functions
	}
	if sum != 32 {
		t.Errorf("bands: %+v", r.Bands)
	}
	for _, path := range []string{"/", "/view/app", "/view/app@01"} {
		status, text := ask(t, http.MethodGet, url+path, nil)
		if status != http.StatusOK || !strings.Contains(text, "</html>") || strings.Contains(text, "<script") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	// A name from outside is text.
	evil := fleettest.NewProgram("<b>evil", "\x03", 3)
	ask(t, http.MethodPost, url+"/v1/files", evil.MapFile(t))
	if _, text := ask(t, http.MethodGet, url+"/", nil); strings.Contains(text, "<b>evil") {
		t.Error("the name of a program is HTML")
	}
}

// TestTokensOfPrograms checks that a token for one program neither reads nor sends data of
// others.
func TestTokensOfPrograms(t *testing.T) {
	t.Parallel()
	const app, all = "read,publish,write-token-of-app", "the-token-of-everything"
	tokens, err := ParseTokens(strings.NewReader("read,write,publish "+app+" app\nread,write,publish "+all), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	url, _ := serve(t, func(o *Options, _ *collector.Options) { o.Tokens = tokens })
	one, two := fleettest.NewProgram("app", "\x01", 5), fleettest.NewProgram("tool", "\x02", 5)
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for _, test := range []struct {
		token  string
		body   []byte
		status int
	}{
		{app, one.MapFile(t), 200}, {app, one.Run(t, 1), 200}, {app, two.MapFile(t), 403}, {all, two.MapFile(t), 200}, {app, spikeLog(1, "tool", "\x02", 5e6), 403},
	} {
		if status, text := ask(t, http.MethodPost, url+"/v1/files", test.body, bearer(test.token)...); status != test.status {
			t.Errorf("%s: %d %s", test.token, status, text)
		}
	}
	// A raw file does not name its program. The list of builds is some moments old.
	unknown := fleettest.NewProgram("later", "\x03", 5)
	deadline := time.Now().Add(time.Minute)
	for status := 0; status != http.StatusForbidden; {
		var text string
		if status, text = ask(t, http.MethodPost, url+"/v1/files", two.Run(t, 1), bearer(app)...); status != 200 && status != 403 || time.Now().After(deadline) {
			t.Fatalf("a run of another program: %d %s", status, text)
		}
	}
	if status, text := ask(t, http.MethodPost, url+"/v1/files", bundled(t, one.Run(t, 2), two.Run(t, 2)), bearer(app)...); status != 403 {
		t.Errorf("runs of both programs: %d %s", status, text)
	}
	if status, text := ask(t, http.MethodPost, url+"/v1/files", bundled(t, one.Run(t, 3), unknown.Run(t, 1)), bearer(app)...); status != 200 {
		t.Errorf("a run of a build that nobody knows: %d %s", status, text)
	}
	for path, status := range map[string]int{
		"/app": 200, "/tool": 404, "/v1/maps/01": 200, "/v1/maps/02": 404, "/v1/logs/02": 404, "/view/tool": 404, "/v1/view/tool@02": 404,
	} {
		if got, text := ask(t, http.MethodGet, url+path, nil, bearer(app)...); got != status {
			t.Errorf("%s: %d %s", path, got, text)
		}
		if got, text := ask(t, http.MethodGet, url+path, nil, bearer(all)...); got != 200 {
			t.Errorf("%s: %d %s", path, got, text)
		}
	}
	for _, path := range []string{"/", "/v1/builds"} {
		if _, text := ask(t, http.MethodGet, url+path, nil, bearer(app)...); strings.Contains(text, "tool") {
			t.Errorf("%s mentions the other program: %s", path, text)
		}
	}
}

// TestDebugFiles checks that clients of debuginfod find programs and debug files.
func TestDebugFiles(t *testing.T) {
	t.Parallel()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	debug, err := depot.OpenDebug(filepath.Join(dir, "debug"), 0)
	if err != nil {
		t.Fatal(err)
	}
	url, _ := serve(t, func(o *Options, _ *collector.Options) { o.Debug, o.MaxDebug, o.Temp = debug, 10<<20, dir })
	binary := filepath.Join(dir, "app")
	cmd := exec.CommandContext(t.Context(), gcc, "-g", "-Wl,--build-id=0xabcdef0123456789", "-x", "c", "-o", binary, "-")
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := ask(t, http.MethodPost, url+"/v1/debug", data); status != http.StatusOK || !strings.Contains(text, "abcdef0123456789") {
		t.Fatalf("%d %s", status, text)
	}
	for _, kind := range []string{"executable", "debuginfo"} {
		if _, got := ask(t, http.MethodGet, url+"/buildid/abcdef0123456789/"+kind, nil); got != string(data) {
			t.Errorf("%s is another file", kind)
		}
	}
	environment := map[string]string{"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": filepath.Join(dir, "cache")}
	path, err := debuginfod.FromEnvironment(func(name string) string { return environment[name] }).Find("abcdef0123456789")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the client gets another file: %v", err)
	}
	for _, path := range []string{"/buildid/00/executable", "/buildid/abcdef0123456789/source", "/buildid/../executable"} {
		if status, _ := ask(t, http.MethodGet, url+path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, text := ask(t, http.MethodPost, url+"/v1/debug", []byte("no program")); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, text)
	}
}

// TestBehind checks that a reader is told to come again when merging takes longer than it waits, and gets everything
// later.
func TestBehind(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, func(_ *Options, co *collector.Options) { co.Patience = time.Nanosecond })
	program := fleettest.NewProgram("app", "\xab\xcd", 4000)
	send := func(data []byte) {
		for {
			switch status, text := ask(t, http.MethodPost, url+"/v1/files", data); status {
			case http.StatusOK:
				return
			case http.StatusServiceUnavailable: // the state is in use
			default:
				t.Fatalf("%d %s", status, text)
			}
		}
	}
	send(program.MapFile(t))
	const most = 3000
	for run := uint64(1); ; run++ {
		if run > most {
			t.Fatalf("%d runs were merged before the next request", most)
		}
		send(program.Run(t, run))
		status, text := ask(t, http.MethodGet, url+"/app", nil)
		if status == http.StatusServiceUnavailable && strings.HasPrefix(text, "uploads that were acknowledged before the request are not merged yet: ") {
			break
		}
	}
	for {
		status, text := ask(t, http.MethodGet, url+"/app", nil)
		if status == http.StatusOK {
			return
		}
		if status != http.StatusServiceUnavailable && status != http.StatusNotFound {
			t.Fatalf("%d %s", status, text)
		}
	}
}
