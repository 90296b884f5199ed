package site

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/page/model"
)

// get asks a server for a path under the name of a host.
func get(t *testing.T, server *httptest.Server, path, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func small(title string) *model.Report {
	return model.Build(&model.Sources{
		Title: title, Show: func(s string) string { return s },
		Views: model.Views{Blobs: []page.Blob{
			{Path: "a/b.json", Write: func(w io.Writer) error { _, err := io.WriteString(w, "[1]"); return err }},
			{Path: "bad", Write: func(io.Writer) error { return errors.New("the file is gone") }},
		}},
	})
}

func TestSite(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := New(&log)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)

	// Without a report the reason is told.
	s.Set(nil, errors.New("nothing is there"))
	if code, body := get(t, server, "/model.json", "localhost"); code != http.StatusServiceUnavailable || body != "nothing is there\n" {
		t.Errorf("without a report: %d %q", code, body)
	}
	s.Set(small("one"), nil)
	tests := []struct {
		path, host string
		code       int
		body       string // a part of it
	}{
		{"/", "localhost:1", 200, "<title>one</title>"},
		{"/", "127.0.0.1", 200, " data-served"},
		{"/", "[::1]:80", 200, "connect-src 'self'"},
		{"/model.json", "localhost", 200, `"title":"one"`},
		{"/data/a/b.json", "localhost", 200, "[1]"},
		{"/data/bad", "localhost", 500, "the file is gone"},
		{"/data/../../etc/passwd", "localhost", 404, ""},
		{"/data/other", "localhost", 404, ""},
		{"/other", "localhost", 404, ""},
		{"/model.json", "example.com", 403, "only localhost is answered"},
		{"/model.json", "127.0.0.1.example.com", 403, "only localhost"},
		{"/model.json", "192.168.0.1", 403, "only localhost"},
	}
	for _, tt := range tests {
		if code, body := get(t, server, tt.path, tt.host); code != tt.code || !strings.Contains(body, tt.body) {
			t.Errorf("%s of %s: %d %.200q, want %d with %q", tt.path, tt.host, code, body, tt.code, tt.body)
		}
	}
	// One that fails leaves the last one in place.
	s.Set(nil, errors.New("damaged"))
	if code, body := get(t, server, "/model.json", "localhost"); code != 200 || !json.Valid([]byte(body)) {
		t.Errorf("after a failure: %d %q", code, body)
	}
	if !strings.Contains(log.String(), "cairn: damaged") {
		t.Errorf("log %q", log.String())
	}
}

// TestEvents checks that open pages are notified of a new report.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := New(io.Discard)
	s.Set(small("one"), nil)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Scan() // the stream is open
	s.Set(small("two"), nil)
	for lines.Scan() {
		if lines.Text() == "event: changed" {
			return
		}
	}
	t.Error("the stream ended:", lines.Err())
}
