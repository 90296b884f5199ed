// Package client speaks to a collector: it sends files and asks for profiles.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// tokenVariable is the environment variable with the token. It is not in the URL, as that is in
// lists of processes and in logs.
const tokenVariable = "CAIRN_TOKEN"

const (
	maxAnswer   = 1 << 20
	maxReason   = 300 // characters of an answer that are shown
	silence     = time.Minute
	shareHeader = "Cairn-Share"
)

// Client speaks to one collector or several.
type Client struct {
	Token string
	HTTP  *http.Client
}

// FromEnvironment returns a client with the token of the environment.
func FromEnvironment() *Client { return New(os.Getenv("CAIRN_TOKEN")) }

// New returns a client with the token. Proxies are those of HTTPS_PROXY, HTTP_PROXY and
// NO_PROXY, certificates those of the system, or of SSL_CERT_FILE.
func New(token string) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = silence
	t.MaxIdleConnsPerHost = t.MaxIdleConns // it is one host, mostly
	return &Client{Token: token, HTTP: &http.Client{Transport: t, CheckRedirect: sameHost}}
}

// sameHost follows no redirect to elsewhere: the token would not go along, but what a program
// left would.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// IsURL reports whether what stands in the place of a file is to be asked of a collector.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// CheckURL returns the URL without what is not to be in it.
func CheckURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is not a URL such as https://collector:8443", text)
	case u.User != nil:
		return "", fmt.Errorf("no password in the URL of %s: a token goes into %s", u.Host, tokenVariable)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q: a collector's URL has no query", text)
	}
	return strings.TrimSuffix(text, "/"), nil
}

// Error is an answer other than yes.
type Error struct {
	URL    string
	Status int
	Reason string
	After  time.Duration // before which not to try again, if the collector says so
}

// Error says what was answered.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %d %s", e.URL, e.Status, http.StatusText(e.Status))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Status == http.StatusUnauthorized {
		text += fmt.Sprintf(" (in %s)", tokenVariable)
	}
	return text
}

// Temporary reports whether the same may be answered otherwise later.
func (e *Error) Temporary() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// do sends a request and checks the status.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	reason, _ := io.ReadAll(io.LimitReader(response.Body, maxReason)) // what there is of it
	e := &Error{URL: r.URL.String(), Status: response.StatusCode, Reason: strings.ToValidUTF8(strings.TrimSpace(string(reason)), "?")}
	if strings.ContainsFunc(e.Reason, func(r rune) bool { return r < ' ' }) {
		e.Reason = "" // no line of a collector's
	}
	if s, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && s > 0 {
		e.After = min(time.Duration(s)*time.Second, time.Hour)
	}
	return nil, e
}

// Get returns what is at a URL, of at most limit bytes.
func (c *Client) Get(ctx context.Context, target string, limit int64) ([]byte, error) {
	target, err := CheckURL(target)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes", target, limit)
	}
	return data, nil
}

// Answer is what a collector says of an upload.
type Answer struct {
	Files   int `json:"files"`
	Known   int `json:"known"`
	Refused []struct {
		Index  int    `json:"index"`
		Reason string `json:"reason"`
	} `json:"refused"`
	// Share is the share of their files that the collector asks senders to send.
	Share float64 `json:"-"`
}

// encoder is shared, as making one costs more than most uploads.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // of options that are constants
	}
	return z
})

// Send sends a body to the collector at base. Without an error the collector has it for good.
func (c *Client) Send(ctx context.Context, base string, body []byte) (*Answer, error) {
	packed := encoder().EncodeAll(body, nil)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/files", bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-Encoding", "zstd")
	response, err := c.do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &Answer{Share: 1}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(a); err != nil {
		return nil, fmt.Errorf("%s: not the answer of a collector: %w", r.URL, err)
	}
	if share, err := strconv.ParseFloat(response.Header.Get(shareHeader), 64); err == nil && share >= 0 && share <= 1 {
		a.Share = share
	}
	return a, nil
}

// Temporary reports whether an error of Send is one to try again after: of the network, or of a
// collector that cannot just now.
func Temporary(err error) bool {
	var e *Error
	return !errors.As(err, &e) || e.Temporary()
}

// Share asks a collector which share of their files senders are to send.
func (c *Client) Share(ctx context.Context, base string) (float64, error) {
	data, err := c.Get(ctx, base+"/v1/policy", maxAnswer)
	if err != nil {
		return 0, err
	}
	policy := struct {
		Share float64 `json:"share"`
	}{1}
	if err := json.Unmarshal(data, &policy); err != nil {
		return 0, fmt.Errorf("%s: not the answer of a collector: %w", base, err)
	}
	return min(1, max(0, policy.Share)), nil
}
