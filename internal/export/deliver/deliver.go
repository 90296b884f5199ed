// Package deliver sends profiles in pprof's format to profile stores: to OpenTelemetry collectors and
// whatever else takes OTLP, to Pyroscope, and to Parca; and files to object stores.
package deliver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/pprof"
)

// Kind is a kind of profile store.
type Kind string

// The kinds of profile stores.
const (
	OTLP      Kind = "otlp"      // OTLP/HTTP, binary
	Pyroscope Kind = "pyroscope" // its POST /ingest
	Parca     Kind = "parca"     // its gRPC method WriteRaw
)

// Kinds are all kinds.
var Kinds = []Kind{OTLP, Pyroscope, Parca}

// About says what a profile is of.
type About struct {
	Service string            // name of the program
	BuildID string            // in hexadecimal, "" if not known
	Writer  string            // of the profile
	Labels  map[string]string // more of it
}

// Target is a profile store.
type Target struct {
	Kind   Kind
	URL    string
	Header http.Header // of each request, for authentication and tenants
}

// HeadersVariable is the environment variable with the headers of requests. It has the form of
// OTEL_EXPORTER_OTLP_HEADERS, which OTLP also takes: NAME=VALUE, separated by commas, percent-encoded.
const HeadersVariable = "CAIRN_EXPORT_HEADERS"

const otlpVariable = "OTEL_EXPORTER_OTLP_HEADERS"

// New returns the store at a URL, with the headers of the environment.
func New(kind Kind, target string) (*Target, error) {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is not a URL such as http://localhost:4318", target)
	case u.User != nil:
		return nil, fmt.Errorf("no password in the URL of %s: put \"Authorization=...\" into %s", u.Host, HeadersVariable)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q: the URL of a store has no query", target)
	}
	t := &Target{Kind: kind, URL: strings.TrimSuffix(target, "/"), Header: http.Header{}}
	variables := []string{HeadersVariable}
	if kind == OTLP {
		variables = append(variables, otlpVariable)
	}
	for _, variable := range variables {
		if err := addHeaders(t.Header, os.Getenv(variable)); err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
	}
	return t, nil
}

// addHeaders adds headers from a list. Errors do not quote it: it has passwords.
func addHeaders(to http.Header, list string) error {
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n") {
			return errors.New("not a list of NAME=VALUE, separated by commas")
		}
		to.Set(name, value)
	}
	return nil
}

// Send sends a profile. If the profile has no time, Send sets it to now.
func (t *Target) Send(ctx context.Context, p *pprof.Profile, about About) error {
	if p.TimeNanos == 0 {
		p.TimeNanos = time.Now().UnixNano()
	}
	switch t.Kind {
	case OTLP:
		return t.sendOTLP(ctx, p, about)
	case Pyroscope:
		return t.sendPyroscope(ctx, p, about)
	case Parca:
		return t.sendParca(ctx, p, about)
	}
	return fmt.Errorf("no kind of profile store: %q", t.Kind)
}

// Bounds of a delivery.
const (
	attempts  = 5
	longest   = 30 * time.Second // between attempts
	timeout   = 2 * time.Minute  // of a request
	maxAnswer = 1 << 20
	maxReason = 300 // characters of an answer that are shown
)

// retry calls send until it succeeds, fails for good, or has failed too often. send returns how long
// to wait before the next attempt, and a negative duration if there is no point in another one.
func retry(ctx context.Context, send func() (time.Duration, error)) error {
	for n := 1; ; n++ {
		after, err := send()
		if err == nil || after < 0 || n == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(min(longest, max(after, time.Second<<(n-1)))):
		}
	}
}

// never is the wait of an error that another attempt does not mend.
const never = time.Duration(-1)

// post sends a body and returns the response's body, and its type.
func (t *Target) post(ctx context.Context, target string, header http.Header, body []byte) (answer []byte, err error) {
	err = retry(ctx, func() (wait time.Duration, err error) {
		answer, wait, err = t.once(ctx, target, header, body)
		return wait, err
	})
	return answer, err
}

func (t *Target) once(ctx context.Context, target string, header http.Header, body []byte) ([]byte, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, never, err
	}
	maps.Copy(r.Header, t.Header)
	maps.Copy(r.Header, header)
	return exchange(r)
}

// exchange sends a request and returns the body of the response. If it fails, wait is how long to wait before
// the next attempt, or negative.
func exchange(r *http.Request) (answer []byte, wait time.Duration, err error) {
	response, err := client.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 == 2 {
		if err != nil {
			return nil, never, fmt.Errorf("%s: %w", r.URL, err)
		}
		return answer, 0, nil
	}
	wait = never
	if slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, response.StatusCode) {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // 0 without one
		wait = time.Duration(max(0, seconds)) * time.Second
	}
	return nil, wait, fmt.Errorf("%s: %s%s", r.URL, response.Status, reason(response.Header, answer))
}

// reason returns what an answer says, if it is text.
func reason(header http.Header, answer []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(answer[:min(len(answer), maxReason)]), ""))
	if strings.Contains(header.Get("Content-Type"), "protobuf") {
		text = statusMessage(answer)
	}
	if strings.HasPrefix(text, "<") { // the page of a proxy
		text = ""
	}
	if text == "" {
		return ""
	}
	return ": " + strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

// client follows no redirects: they would make a GET of the request.
var client = &http.Client{
	Transport:     http.DefaultTransport.(*http.Transport).Clone(),
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// labels returns the labels of a profile with the build, sorted by name.
func (a *About) labels() (list [][2]string) {
	all := maps.Clone(a.Labels)
	if all == nil {
		all = make(map[string]string)
	}
	if a.BuildID != "" {
		all["build_id"] = a.BuildID
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, [2]string{name, all[name]})
	}
	return list
}

// unit returns what all values of a sample type are in.
func unit(t *pprof.ValueType) string { return cmp.Or(t.Unit, "count") }

// pprofFile returns a profile as a file, packed with gzip.
func pprofFile(p *pprof.Profile) ([]byte, error) {
	var file bytes.Buffer
	err := p.Write(&file)
	return file.Bytes(), err
}
