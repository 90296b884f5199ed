// Package site serves the latest report of a program to browsers on this machine, and tells their pages when there is a
// new one.
package site

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/page/model"
)

// Site serves the latest report to browsers.
type Site struct {
	log io.Writer

	mu      sync.Mutex
	report  *model.Report
	err     error // why there is no report
	changed chan struct{}
}

// New returns a site without a report. It writes to log why one could not be made.
func New(log io.Writer) *Site { return &Site{log: log, changed: make(chan struct{})} }

// Set replaces the report. One that cannot be made leaves the last one in place.
func (s *Site) Set(r *model.Report, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		fmt.Fprintf(s.log, "cairn: %v\n", err)
		s.err = err
		return
	}
	if s.report != nil {
		s.report.Close() // requests that are under way fail; their pages load all anew
	}
	s.report, s.err = r, nil
	close(s.changed)
	s.changed = make(chan struct{})
}

// Close closes the report.
func (s *Site) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report != nil {
		s.report.Close()
	}
}

// get returns the report, or the error if there is none.
func (s *Site) get() (*model.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report != nil {
		return s.report, nil
	}
	return nil, s.err
}

// next returns a channel that is closed when there is a new report.
func (s *Site) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Handler answers the requests of browsers.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.shell)
	mux.HandleFunc("GET /model.json", s.model)
	mux.HandleFunc("GET /data/{path...}", s.data)
	mux.HandleFunc("GET /events", s.events)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("X-Frame-Options", "DENY")
		if !isLocal(r.Host) { // a page elsewhere whose name leads to this machine
			http.Error(w, fmt.Sprintf("the host is %.100q: only localhost is answered", r.Host), http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host header names this machine by itself.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Site) shell(w http.ResponseWriter, _ *http.Request) {
	title := "cairn"
	if r, err := s.get(); err == nil {
		title = r.Model.Title
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.WriteShell(w, title) // the browser has disconnected
}

func (s *Site) model(w http.ResponseWriter, r *http.Request) {
	rep, err := s.get()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.answer(w, r, "application/json", rep.WriteModel)
}

func (s *Site) data(w http.ResponseWriter, r *http.Request) {
	rep, err := s.get()
	if err != nil {
		http.NotFound(w, r)
		return
	}
	blob, ok := rep.Blob(r.PathValue("path"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind := "application/octet-stream"
	if strings.HasSuffix(blob.Path, ".json") {
		kind = "application/json"
	}
	s.answer(w, r, kind, blob.Write)
}

// answer sends the output of write, compressed if the browser accepts that. The output is
// complete before it is sent, so that an error is reported to the browser as well.
func (s *Site) answer(w http.ResponseWriter, r *http.Request, kind string, write func(io.Writer) error) {
	var body bytes.Buffer
	out := bufio.NewWriter(&body)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(body.Bytes())
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	packed := gzip.NewWriter(w)
	_, _ = packed.Write(body.Bytes())
	_ = packed.Close()
}

// events notifies a page when there is a new report.
func (s *Site) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	changed := s.next()
	_, _ = io.WriteString(w, ": cairn\n\n")
	for {
		if control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
			changed = s.next()
			if _, err := io.WriteString(w, "event: changed\ndata:\n\n"); err != nil {
				return
			}
		}
	}
}
