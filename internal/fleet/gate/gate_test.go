package gate

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/fleet/tally"
)

// serve runs a collector behind a gate.
func serve(t *testing.T, change func(*Options, *collector.Options)) (url string, c *collector.Collector) {
	t.Helper()
	dir := t.TempDir()
	j, err := segment.Open(filepath.Join(dir, "journal"), segment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	o := Options{MaxBody: 1 << 20, MaxFile: 1 << 20, MaxAll: 1 << 20, Memory: 1 << 24, Share: 1, Log: log}
	co := collector.Options{
		Limits: tally.Limits{Traces: fleettest.Traces, Logs: 1 << 20}, MaxWaiting: 1 << 20, SnapshotRecords: 10, SnapshotBytes: 1 << 20, SnapshotEvery: time.Hour,
		Free: func() (int64, error) { return 1 << 40, nil }, Log: log,
	}
	if change != nil {
		change(&o, &co)
	}
	if c, err = collector.Open(j, d, co); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(New(c, o))
	t.Cleanup(func() {
		server.Close()
		if err := c.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return server.URL, c
}

// ask sends a request and returns the status and the answer.
func ask(t *testing.T, method, url string, body []byte, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func bundled(t *testing.T, files ...[]byte) []byte {
	t.Helper()
	var list []bundle.File
	for _, data := range files {
		list = append(list, bundle.File{Data: data})
	}
	data, err := bundle.Append(nil, list)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(data, nil)
}

// TestRequests checks the answer to every request.
func TestRequests(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	one, two, three, m := p.Run(t, 1), p.Run(t, 2), p.Run(t, 3), p.MapFile(t)
	bad := bytes.Clone(three)
	bad[len(bad)-1] ^= 1
	bomb := make([]byte, 2<<20)
	for _, test := range []struct {
		name, method, path string
		body               []byte
		headers            []string
		status             int
		want               string
	}{
		{"no map yet", "GET", "/app", nil, nil, 404, "no such program"},
		{"raw file", "POST", "/v1/files", one, nil, 200, `"known": 0`},
		{"map", "POST", "/v1/files", m, nil, 200, `"files": 1`},
		{"merged", "GET", "/v1/builds", nil, nil, 200, `"runs": 1`},
		{"again", "POST", "/v1/files", one, nil, 200, `"known": 1`},
		{"gzip", "POST", "/v1/files", gzipped(t, two), []string{"Content-Encoding", "gzip"}, 200, `"known": 0`},
		{"zstd", "POST", "/v1/files", zstded(t, three), []string{"Content-Encoding", "zstd"}, 200, `"known": 0`},
		{"bundle", "POST", "/v1/files", bundled(t, one, bad, two), nil, 200, `"index": 1`},
		{"damaged", "POST", "/v1/files", bad, nil, 400, "checksum"},
		{"another kind", "POST", "/v1/files", []byte("text"), nil, 415, "not a raw file"},
		{"nothing", "POST", "/v1/files", nil, nil, 415, "not a raw file"},
		{"another map", "POST", "/v1/files", fleettest.NewProgram("app", "\xab\xcd", 31).MapFile(t), nil, 200, "a different map"},
		{"truncated", "POST", "/v1/files", bundled(t, one)[:50], nil, 400, "truncated"},
		{"too long", "POST", "/v1/files", bomb, nil, 413, "too large"},
		{"gzip bomb", "POST", "/v1/files", gzipped(t, bomb), []string{"Content-Encoding", "gzip"}, 413, "limit exceeded"},
		{"zstd bomb", "POST", "/v1/files", zstded(t, bomb), []string{"Content-Encoding", "zstd"}, 413, "limit exceeded"},
		{"no gzip", "POST", "/v1/files", one, []string{"Content-Encoding", "gzip"}, 400, "gzip"},
		{"no zstd", "POST", "/v1/files", one, []string{"Content-Encoding", "zstd"}, 400, "magic"},
		{"encoding", "POST", "/v1/files", one, []string{"Content-Encoding", "br"}, 415, "br"},
		{"page", "POST", "/v1/files", one, []string{"Origin", "https://example.org"}, 403, "pages"},
		{"host", "GET", "/app", nil, []string{"Host", "example.org"}, 403, "localhost"},
		{"method", "GET", "/v1/files", nil, nil, 405, ""},
		{"path", "GET", "/../../etc/passwd", nil, nil, 404, ""},
		{"encoded path", "GET", "/..%2f..%2fetc%2fpasswd", nil, nil, 404, "no such program"},
		{"no build", "GET", "/app@00", nil, nil, 404, "no such program"},
		{"no program", "GET", "/other", nil, nil, 404, "no such program"},
		{"builds", "GET", "/v1/builds", nil, nil, 200, `"runs": 3`},
		{"policy", "GET", "/v1/policy", nil, nil, 200, `"share": 1`},
		{"map of a build", "GET", "/v1/maps/abcd", nil, nil, 200, string(m)},
		{"map of no build", "GET", "/v1/maps/abce", nil, nil, 404, "no such"},
		{"map of no id", "GET", "/v1/maps/xyz", nil, nil, 400, "hexadecimal"},
		{"health", "GET", "/healthz", nil, nil, 200, "ok"},
		{"readiness", "GET", "/readyz", nil, nil, 200, "ok"},
		{"profile", "GET", "/app@AB", nil, nil, 200, string(fleettest.Merged(t, []*fleettest.Program{p}, map[string][]byte{"1": one, "2": two, "3": three}))},
	} {
		status, answer := ask(t, test.method, url+test.path, test.body, test.headers...)
		if status != test.status || !strings.Contains(answer, test.want) {
			t.Errorf("%s: %d %.300q, want %d with %.100q", test.name, status, answer, test.status, test.want)
		}
	}
}

// TestProfileTag checks that the entity tag of a profile changes with the profile, and that a
// request for the tag merges nothing.
func TestProfileTag(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	p := fleettest.NewProgram("app", "\x01", 5)
	tag := func(method string, headers ...string) (int, string, int64) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url+"/app", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		size, err := io.Copy(io.Discard, answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header.Get("ETag"), size
	}
	ask(t, http.MethodPost, url+"/v1/files", bundled(t, p.MapFile(t), p.Run(t, 1)))
	code, first, size := tag(http.MethodGet)
	if code != http.StatusOK || first == "" || size == 0 {
		t.Fatalf("%d, tag %q, %d bytes", code, first, size)
	}
	if code, head, _ := tag(http.MethodHead); code != http.StatusOK || head != first {
		t.Errorf("HEAD: %d, tag %q, want %q", code, head, first)
	}
	if code, _, size := tag(http.MethodGet, "If-None-Match", first); code != http.StatusNotModified || size != 0 {
		t.Errorf("the same tag: %d, %d bytes", code, size)
	}
	ask(t, http.MethodPost, url+"/v1/files", bundled(t, p.Run(t, 2)))
	if code, second, size := tag(http.MethodGet, "If-None-Match", first); code != http.StatusOK || second == first || size == 0 {
		t.Errorf("after an upload: %d, tag %q, %d bytes", code, second, size)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	ask(t, "POST", url+"/v1/files", bundled(t, p.MapFile(t), p.Run(t, 1), p.Run(t, 2), p.Run(t, 1)))
	ask(t, "POST", url+"/v1/files", []byte("text"))
	ask(t, "GET", url+"/v1/builds", nil) // waits for what was sent
	_, text := ask(t, "GET", url+"/metrics", nil)
	line := regexp.MustCompile(`^(# (HELP|TYPE) cairn_[a-z_]+ .+|cairn_[a-z_]+(\{[a-z]+="[0-9a-z_]*"(,[a-z]+="[a-z_]+")?\})? [0-9]+)$`)
	for l := range strings.Lines(text) {
		if !line.MatchString(strings.TrimSpace(l)) {
			t.Errorf("no line of the format: %q", l)
		}
	}
	for _, want := range []string{"cairn_runs_total 2\n", "cairn_repeated_total 1\n", "cairn_uploads_total 1\n", "cairn_refused_total{status=\"415\"} 1\n", "cairn_builds 1\n"} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	const writer, publisher, reader = "writer-0123456789", "publisher-0123456789", "reader-0123456789"
	tokens, err := ParseTokens(strings.NewReader("# comment\n\nwrite "+writer+"\nwrite,publish "+publisher+"\nread\t"+reader+"\n"), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	url, _ := serve(t, func(o *Options, _ *collector.Options) { o.Tokens = tokens })
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	if status, _ := ask(t, "POST", url+"/v1/files", p.MapFile(t), "Authorization", "Bearer "+publisher); status != 200 {
		t.Fatalf("the map is answered with %d", status)
	}
	raw, m := p.Run(t, 1), fleettest.NewProgram("b", "\xab\xce", 30).MapFile(t)
	for _, test := range []struct {
		method, path string
		body         []byte
		allowed      string
	}{
		{"POST", "/v1/files", raw, writer + publisher},
		{"POST", "/v1/files", m, publisher},
		{"POST", "/v1/files", bundled(t, raw, m), publisher},
		{"GET", "/app", nil, reader},
		{"GET", "/v1/builds", nil, reader},
		{"GET", "/v1/maps/abcd", nil, reader},
		{"GET", "/v1/policy", nil, writer + publisher},
	} {
		for _, token := range []string{"", "x", "unknown-0123456789", writer, publisher, reader} {
			want := http.StatusForbidden
			switch {
			case token != "" && strings.Contains(test.allowed, token) && token != "x":
				want = http.StatusOK
			case token == "" || token == "x" || strings.HasPrefix(token, "unknown"):
				want = http.StatusUnauthorized
			}
			if status, answer := ask(t, test.method, url+test.path, test.body, "Authorization", "Bearer "+token, "Host", "example.org"); status != want {
				t.Errorf("%s %s with %q: %d %s, want %d", test.method, test.path, token, status, answer, want)
			}
		}
	}
	for _, bad := range []string{"", "write short", "admin 0123456789abcdef", "write short more", "0123456789abcdef"} {
		if _, err := ParseTokens(strings.NewReader(bad), "tokens"); err == nil {
			t.Errorf("%q is a list of tokens", bad)
		}
	}
}

// TestLimits checks the limits for all senders together and for one sender.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	for name, test := range map[string]struct {
		change func(*Options, *collector.Options)
		status int
		want   string
	}{
		"memory":  {func(o *Options, _ *collector.Options) { o.Memory = 100 }, 503, "too many uploads at once"},
		"waiting": {func(_ *Options, o *collector.Options) { o.MaxWaiting = 100 }, 503, "wait for the maps"},
		"disk":    {func(_ *Options, o *collector.Options) { o.MinFree = 1 << 50 }, 507, "no space left"},
	} {
		url, _ := serve(t, test.change)
		for range 3 {
			if status, answer := ask(t, "POST", url+"/v1/files", p.Run(t, 1)); status != test.status || !strings.Contains(answer, test.want) {
				t.Errorf("%s: %d %s", name, status, answer)
			}
		}
	}
	l := newLimiter(2)
	now := time.Unix(1000, 0)
	allowed := func(address string, n int) (yes int) {
		for range n {
			if l.allows(address, now) {
				yes++
			}
		}
		return yes
	}
	if a, b := allowed("a", 50), allowed("b", 5); a != 2*burst || b != 5 {
		t.Errorf("%d and %d of 50 and 5 are allowed at once", a, b)
	}
	now = now.Add(3 * time.Second)
	if a := allowed("a", 50); a != 6 {
		t.Errorf("%d are allowed 3 s later", a)
	}
}

// TestStorm checks that the same uploads from many senders count each run once.
func TestStorm(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	raws := map[string][]byte{}
	for run := range uint64(20) {
		raws[fmt.Sprint(run)] = p.Run(t, run+1)
	}
	var wg sync.WaitGroup
	for sender := range uint64(10) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(sender, 1))
			if status, answer := ask(t, "POST", url+"/v1/files", p.MapFile(t)); status != 200 {
				t.Error(answer)
			}
			for _, run := range rng.Perm(20) {
				if status, answer := ask(t, "POST", url+"/v1/files", raws[fmt.Sprint(run)]); status != 200 {
					t.Error(answer)
				}
			}
		})
	}
	wg.Wait()
	if _, got := ask(t, "GET", url+"/app", nil); got != string(fleettest.Merged(t, []*fleettest.Program{p}, raws)) {
		t.Error("the profile is not that of each run once")
	}
}

// TestMalformed checks that malformed uploads get a status other than 5xx and change nothing.
func TestMalformed(t *testing.T) {
	t.Parallel()
	n := 10_000
	if testing.Short() {
		n = 500
	}
	url, c := serve(t, nil)
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	body := bundled(t, p.Run(t, 1), p.Run(t, 2))
	bodies := []struct {
		encoding string
		data     []byte
	}{{"", body}, {"gzip", gzipped(t, body)}, {"zstd", zstded(t, body)}}
	if status, _ := ask(t, "POST", url+"/v1/files", body); status != 200 {
		t.Fatal(status)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	statuses := map[int]int{}
	for range n {
		b := bodies[rng.IntN(len(bodies))]
		data := bytes.Clone(b.data)
		for range 1 + rng.IntN(4) {
			data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
		}
		status, answer := ask(t, "POST", url+"/v1/files", data, "Content-Encoding", b.encoding)
		statuses[status]++
		if status >= 500 || status != 200 && (strings.Count(answer, "\n") != 1 || len(answer) > 500) {
			t.Fatalf("%d %q", status, answer)
		}
	}
	t.Log(statuses)
	if list, err := c.Builds(t.Context(), tally.Query{}); err != nil || len(list) != 1 || list[0].Waiting != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestSlow checks that senders that stall do not delay others.
func TestSlow(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	for range 50 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nC")
	}
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	if status, answer := ask(t, "POST", url+"/v1/files", p.Run(t, 1)); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	var v any
	if _, answer := ask(t, "GET", url+"/v1/builds", nil); json.Unmarshal([]byte(answer), &v) != nil {
		t.Error(answer)
	}
}
