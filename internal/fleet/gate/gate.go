// Package gate serves the HTTP requests of a collector. It authenticates clients and bounds what
// they send.
//
//	POST /v1/files                a raw file, a pack, a map, a log, or a bundle of them
//	POST /v1/debug                a program or its debug file
//	GET  /v1/policy               the share of files to send, and limits, as JSON
//	GET  /v1/builds               the builds, as JSON
//	GET  /v1/maps/BUILD           the map of a build
//	GET  /v1/logs/BUILD[/KEY]     the list of the logs of a build, or one of them
//	GET  /v1/view/PROGRAM@BUILD   coverage, functions that never ran, spikes, as JSON
//	GET  /v1/backup               a copy of the collector, a tar archive
//	GET  /PROGRAM[@BUILD]         a profile; BUILD may be the start of the id
//	GET  /buildid/BUILD/KIND      a program or its debug file, as of debuginfod
//	GET  / /view/PROGRAM[@BUILD]  pages for people
//	GET  /metrics /healthz /readyz
//
// An upload that is answered with 200 is durable, and may be sent again any number of times.
package gate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// Options are settings of a gate.
type Options struct {
	Tokens    Tokens    // nil: everybody on this machine may do everything
	MaxBody   int64     // bytes of a body as it is sent
	MaxFile   int64     // bytes of a file in it
	MaxAll    int64     // bytes of all files in it
	Memory    int64     // bytes of all bodies that are being received, and, as a part of it, of those that are stored
	Limits    tally.Use // of a token, for metrics
	MaxMemory int64     // of the process, for metrics
	Rate      float64   // uploads a second from one address, 0 for any number
	Share     float64   // of their files that senders are asked to send
	Log       *slog.Logger
	// Connections are those on which requests come, for metrics; nil if they are not bounded.
	Connections *Connections

	Debug    DebugFiles
	MaxDebug int64  // bytes of a program or a debug file
	Temp     string // directory for uploads in progress

	Audit *slog.Logger // of accepted and refused requests, nil for none
}

const maxFiles = 1 << 14 // in a body

// Backend stores uploads and answers queries for a gate.
type Backend interface {
	Submit(ctx context.Context, items []inbox.Item) (collector.Result, []inbox.Refusal, error)
	Builds(ctx context.Context, q tally.Query) ([]tally.Build, error)
	Profile(ctx context.Context, id prof.BuildID) ([]byte, error)
	Map(ctx context.Context, id prof.BuildID) ([]byte, error)
	Logs(ctx context.Context, id prof.BuildID) ([]tally.Log, error)
	LogFile(ctx context.Context, id prof.BuildID, key inbox.Key) ([]byte, error)
	Spikes(ctx context.Context, id prof.BuildID) ([]tally.Spike, error)
	Status() collector.Status
}

// Gate answers requests.
type Gate struct {
	o       Options
	c       Backend
	limiter *limiter
	mux     *http.ServeMux
	budget  *budget
	small   atomic.Int64 // bytes of small bodies, or of the starts of others
	work    *queue       // memory for bodies that are being stored
	packs   *queue       // one body with packs at a time
	reads   *queue       // answers that need much memory, at a time
	tokens  atomic.Pointer[Tokens]
	counts  counts
	closing atomic.Bool
	owners  owners
	maps    symbols
}

// New returns the handler of a backend.
func New(c Backend, o Options) *Gate {
	g := &Gate{
		o: o, c: c, limiter: newLimiter(o.Rate), mux: http.NewServeMux(), budget: newBudget(o.Memory, o.MaxAll, o.Tokens != nil),
		work: newQueue(o.Memory / 4), packs: newQueue(1), reads: newQueue(2),
	}
	if o.Tokens != nil {
		g.SetTokens(o.Tokens)
	}
	for _, r := range g.routes() {
		if r.role != 0 {
			r.handler = g.needs(r.role, r.handler)
		}
		g.mux.HandleFunc(r.pattern, r.handler)
	}
	return g
}

// route is a way in: TestMatrix has a row for each.
type route struct {
	pattern string
	role    Role // that a token needs, 0 if none is needed
	handler http.HandlerFunc
}

// routes returns all ways in.
func (g *Gate) routes() []route {
	routes := []route{
		{"POST /v1/files", Write, g.files},
		{"GET /v1/policy", Write, g.policy},
		{"GET /v1/builds", Read, g.builds},
		{"GET /v1/backup", Backup, g.backup},
		{"GET /v1/maps/{build}", Read, g.buildMap},
		{"GET /v1/logs/{build}", Read, g.logs},
		{"GET /v1/logs/{build}/{key}", Read, g.logFile},
		{"GET /v1/view/{profile}", Read, g.viewJSON},
		{"GET /view/{profile}", Read, g.viewPage},
		{"GET /{$}", Read, g.index},
		{"GET /{profile}", Read, g.profile},
		{"GET /metrics", 0, g.metrics},
		{"GET /healthz", 0, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }},
		{"GET /readyz", 0, g.ready},
	}
	if g.o.Debug != nil {
		routes = append(routes, route{"POST /v1/debug", Publish, g.putDebug}, route{"GET /buildid/{build}/{kind}", Read, g.debugFile})
	}
	return routes
}

// SetTokens replaces the tokens. Requests in progress keep what theirs allowed.
func (g *Gate) SetTokens(t Tokens) { g.tokens.Store(&t) }

// Closing makes /readyz report that this collector is about to end.
func (g *Gate) Closing() { g.closing.Store(true) }

// ServeHTTP answers a request.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if reason := g.foreign(r); reason != "" {
		g.refuse(w, r, http.StatusForbidden, reason)
		return
	}
	g.mux.ServeHTTP(w, r)
}

// foreign returns why a request is refused that a page of another site may have sent: a browser on this machine
// can reach collectors that serve only this machine.
func (g *Gate) foreign(r *http.Request) string {
	if r.Header.Get("Origin") != "" && r.Method != http.MethodGet {
		return "uploads from web pages are rejected"
	}
	if g.tokens.Load() != nil {
		return ""
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Sprintf("the host is %.100q: without tokens only localhost is answered", host)
	}
	return ""
}

// needs refuses requests whose token does not have a role.
func (g *Gate) needs(role Role, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if has := g.roles(r); has&role == 0 {
			status := http.StatusForbidden
			if has == 0 {
				status = http.StatusUnauthorized
				w.Header().Add("WWW-Authenticate", `Bearer realm="cairn"`)
				w.Header().Add("WWW-Authenticate", `Basic realm="cairn: the token is the password", charset="UTF-8"`)
			}
			g.refuse(w, r, status, fmt.Sprintf("a token that may %s is needed", role))
			return
		}
		next(w, r)
	}
}

func (g *Gate) roles(r *http.Request) Role { return g.grant(r).Role }

// grant returns what the token of a request allows. Browsers send it as a password.
func (g *Gate) grant(r *http.Request) Grant {
	tokens := g.tokens.Load()
	if tokens == nil {
		return Grant{Role: Write | Read | Publish | Backup}
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, ok := r.BasicAuth(); ok {
		token = password
	}
	return tokens.grant(token)
}

// audit writes a line about an accepted request to the audit log.
func (g *Gate) audit(r *http.Request, what string, args ...any) {
	if g.o.Audit != nil {
		g.o.Audit.Info(what, append([]any{"from", r.RemoteAddr, "token", g.grant(r).Name, "method", r.Method, "path", r.URL.Path}, args...)...)
	}
}

// auditRefusal writes a line about a refused request, or a refused file of one, to the audit log.
func (g *Gate) auditRefusal(r *http.Request, status int, reason string) {
	if g.o.Audit != nil {
		g.o.Audit.Warn("refused", "from", r.RemoteAddr, "token", g.grant(r).Name, "method", r.Method, "path", r.URL.Path, "status", status, "reason", reason)
	}
}

// refuse answers with an error, one line of text.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	g.counts.refused(status)
	g.o.Log.Warn("refused", "status", status, "reason", reason, "from", r.RemoteAddr, "method", r.Method, "path", r.URL.Path)
	g.auditRefusal(r, status, reason)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusInsufficientStorage {
		after := retryAfter
		if strings.Contains(reason, journal.ErrUnavailable.Error()) || strings.Contains(reason, collector.ErrBehind.Error()) || strings.Contains(reason, collector.ErrBusy.Error()) {
			after = 2 // about the time until the store answers again; a reader has waited already
		}
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	if r.Method == http.MethodPost {
		// Otherwise the answer waits for the rest of the body, which may not come.
		w.Header().Set("Connection", "close")
	}
	http.Error(w, reason, status)
}

const retryAfter = 30 // seconds

// files handles an upload.
func (g *Gate) files(w http.ResponseWriter, r *http.Request) {
	g.share(w)
	if !g.limiter.allows(address(r), time.Now()) {
		g.refuse(w, r, http.StatusTooManyRequests, "too many uploads from this address")
		return
	}
	body, done, err := g.body(w, r)
	defer done()
	if err != nil {
		g.refuse(w, r, statusOf(err, http.StatusBadRequest), err.Error())
		return
	}
	if bytes.Contains(body, []byte(mippack.Magic)) {
		if err := g.packs.acquire(r.Context(), 1); err != nil {
			g.refuse(w, r, http.StatusServiceUnavailable, errBusy.Error())
			return
		}
		defer g.packs.giveBack(1)
	}
	items, refused, err := inbox.Open(body, inbox.Limits{Files: maxFiles, File: g.o.MaxFile, Total: g.o.MaxAll, Content: true})
	if err != nil {
		g.refuse(w, r, statusOf(err, http.StatusBadRequest), err.Error())
		return
	}
	publishes, reason, err := g.claim(r, items)
	if err != nil {
		g.refuse(w, r, statusOf(err, http.StatusInternalServerError), err.Error())
		return
	}
	if reason != "" {
		g.refuse(w, r, http.StatusForbidden, reason)
		return
	}
	result, more, err := g.c.Submit(r.Context(), items)
	if err != nil {
		g.counts.limited(err)
		g.refuse(w, r, statusOf(err, http.StatusInternalServerError), err.Error())
		return
	}
	g.counts.accepted(result.Files, len(refused)+len(more), len(body))
	g.audit(r, "upload", "files", result.Files, "known", result.Known, "refused", len(refused)+len(more), "bytes", len(body))
	for _, refusal := range more {
		if strings.HasPrefix(refusal.Reason, tally.ErrForeign.Error()) {
			g.auditRefusal(r, http.StatusForbidden, fmt.Sprintf("file %d: %s", refusal.Index, refusal.Reason))
		}
	}
	if publishes {
		g.o.Log.Info("maps", "from", r.RemoteAddr, "files", result.Files, "refused", len(more))
	}
	answer(w, struct {
		Version int `json:"version"`
		collector.Result
		Refused []inbox.Refusal `json:"refused"`
	}{1, result, append(append([]inbox.Refusal{}, refused...), more...)})
}

// claim gives items the claims of the sender. It reports whether a map is among them, and why the sender may not
// send them.
func (g *Gate) claim(r *http.Request, items []inbox.Item) (publishes bool, reason string, err error) {
	grant := g.grant(r)
	claims := grant.claims()
	for i := range items {
		items[i].Claims, items[i].Sender = claims, grant.Name
		publishes = publishes || items[i].Kind == inbox.Map
	}
	reason, err = g.foreignFile(r.Context(), &grant, items)
	if err == nil && reason == "" && publishes && grant.Role&Publish == 0 {
		reason = fmt.Sprintf("maps: a token that may %s is needed", Publish)
	}
	return publishes, reason, err
}

// statusOf returns the HTTP status for an error, other if there is no specific one.
func statusOf(err error, other int) int {
	var tooLong *http.MaxBytesError
	switch {
	case errors.Is(err, inbox.ErrKind), errors.Is(err, errEncoding):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, bundle.ErrLimit), errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errShare), errors.Is(err, tally.ErrSender):
		return http.StatusTooManyRequests
	case errors.Is(err, collector.ErrNoSpace), errors.Is(err, syscall.ENOSPC), errors.Is(err, tally.ErrMemory):
		return http.StatusInsufficientStorage
	case errors.Is(err, journal.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, collector.ErrWaiting), errors.Is(err, collector.ErrBehind), errors.Is(err, collector.ErrBusy), errors.Is(err, journal.ErrUnavailable), errors.Is(err, errBusy),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	case errors.Is(err, errForeignDebug):
		return http.StatusForbidden
	case errors.Is(err, errBuildID), errors.Is(err, errCursor):
		return http.StatusBadRequest
	case errors.Is(err, tally.ErrNone):
		return http.StatusNotFound
	case errors.Is(err, tally.ErrAmbiguous):
		return http.StatusConflict
	}
	return other
}

// share sets the header with the share of their files that senders are asked to send.
func (g *Gate) share(w http.ResponseWriter) {
	w.Header().Set(ShareHeader, strconv.FormatFloat(g.o.Share, 'g', -1, 64))
}

// ShareHeader is the header of the share of their files that senders are asked to send.
const ShareHeader = "Cairn-Share"

func (g *Gate) policy(w http.ResponseWriter, _ *http.Request) {
	g.share(w)
	answer(w, struct {
		Version int     `json:"version"`
		Share   float64 `json:"share"`
		MaxBody int64   `json:"maxBody"`
		MaxFile int64   `json:"maxFile"`
		MaxAll  int64   `json:"maxAll"`
		Files   int     `json:"maxFiles"`
	}{1, g.o.Share, g.o.MaxBody, g.o.MaxFile, g.o.MaxAll, maxFiles})
}

func (g *Gate) profile(w http.ResponseWriter, r *http.Request) {
	program, build, _ := strings.Cut(r.PathValue("profile"), "@")
	ids, tag, err := g.selected(r, program, strings.ToLower(build))
	if err != nil {
		g.give(w, r, nil, err)
		return
	}
	w.Header().Set("ETag", tag)
	switch {
	case r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
		return
	case r.Method == http.MethodHead: // clients that wait for changes ask often, so nothing is merged
		return
	}
	data, err := g.profileOf(r, ids)
	g.give(w, r, data, err)
}

// selected returns the builds of a program whose ids begin with prefix, all if that is empty, and an
// entity tag that changes with their profile.
func (g *Gate) selected(r *http.Request, program, prefix string) ([]prof.BuildID, string, error) {
	builds, err := g.visible(r, tally.Query{Named: true, Program: program})
	if err != nil {
		return nil, "", err
	}
	ids, err := tally.Select(builds, program, prefix, true)
	if err != nil {
		return nil, "", err
	}
	state := sha256.New()
	for _, b := range builds {
		if slices.ContainsFunc(ids, func(id prof.BuildID) bool { return id.String() == b.Build }) {
			fmt.Fprintf(state, "%s %s %v %d %d %d\n", b.Program, b.Build, b.Mapped, b.Uploads, b.Runs, b.Last)
		}
	}
	return ids, fmt.Sprintf(`"%x"`, state.Sum(nil)[:8]), nil
}

// profileOf returns the profile of some builds of one program.
func (g *Gate) profileOf(r *http.Request, ids []prof.BuildID) (_ []byte, err error) {
	files := make([][]byte, len(ids))
	for i, id := range ids {
		if files[i], err = g.c.Profile(r.Context(), id); err != nil {
			return nil, err
		}
	}
	return tally.Join(files)
}

// give responds with a file.
func (g *Gate) give(w http.ResponseWriter, r *http.Request, data []byte, err error) {
	if err != nil {
		g.refuse(w, r, statusOf(err, http.StatusInternalServerError), err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // the client may have disconnected
}

func (g *Gate) ready(w http.ResponseWriter, r *http.Request) {
	switch s := g.c.Status(); {
	case g.closing.Load():
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
	case s.Err != nil:
		http.Error(w, s.Err.Error(), http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "ok")
	}
}

// answer answers with JSON.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client may have disconnected
}

// address returns the address that a request came from, without the port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
