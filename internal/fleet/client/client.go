// Package client sends files to a collector and gets profiles from it.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
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

// tokenVariable is the environment variable with the token, for messages. The token is not in the
// URL, which lists of processes and logs show.
const tokenVariable = "CAIRN_TOKEN"

const (
	maxAnswer   = 1 << 20
	maxReason   = 300 // characters of a response that are shown
	silence     = time.Minute
	shareHeader = "Cairn-Share"
)

// Client sends requests to collectors.
type Client struct {
	Token string
	HTTP  *http.Client
}

// FromEnvironment returns a client with the token and the certificate of the environment.
func FromEnvironment() *Client {
	c := New(os.Getenv("CAIRN_TOKEN"))
	if cert, key := os.Getenv("CAIRN_CLIENT_CERT"), os.Getenv("CAIRN_CLIENT_KEY"); cert != "" || key != "" {
		c.HTTP.Transport.(*http.Transport).TLSClientConfig = &tls.Config{
			MinVersion: tls.VersionTLS12,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				pair, err := tls.LoadX509KeyPair(cert, key)
				if err != nil {
					err = fmt.Errorf("CAIRN_CLIENT_CERT and CAIRN_CLIENT_KEY: %w", err)
				}
				return &pair, err
			},
		}
	}
	return c
}

// New returns a client with the token. Proxies are those of HTTPS_PROXY, HTTP_PROXY and
// NO_PROXY, certificates those of the system, or of SSL_CERT_FILE.
func New(token string) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = silence
	t.MaxIdleConnsPerHost = t.MaxIdleConns // it is one host, mostly
	return &Client{Token: token, HTTP: &http.Client{Transport: t, CheckRedirect: sameHost}}
}

// sameHost refuses redirects to other hosts, which would get the files of programs.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// IsURL reports whether the name of a file is the URL of a profile.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// CheckURL checks the URL of a collector and returns it without a slash at the end.
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

// Error reports a response with a status other than 200.
type Error struct {
	URL    string
	Status int
	Reason string
	After  time.Duration // to wait before the next attempt, 0 if the collector does not say
}

// Error returns the URL, the status and the reason.
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

// Temporary reports whether the same request may succeed later.
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
	reason, _ := io.ReadAll(io.LimitReader(response.Body, maxReason)) // as much as could be read
	e := &Error{URL: r.URL.String(), Status: response.StatusCode, Reason: strings.ToValidUTF8(strings.TrimSpace(string(reason)), "?")}
	if strings.ContainsFunc(e.Reason, func(r rune) bool { return r < ' ' }) {
		e.Reason = "" // a collector answers one line
	}
	if s, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && s > 0 {
		e.After = min(time.Duration(s)*time.Second, time.Hour)
	}
	return nil, e
}

// Get returns the content of a URL, of at most limit bytes.
func (c *Client) Get(ctx context.Context, target string, limit int64) ([]byte, error) {
	target, err := CheckURL(target)
	if err != nil {
		return nil, err
	}
	return c.get(ctx, target, limit)
}

func (c *Client) get(ctx context.Context, target string, limit int64) ([]byte, error) {
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

// State asks for a text that changes with the content of a URL: its entity tag, or when it was
// modified. It is "" if the server sends neither.
func (c *Client) State(ctx context.Context, target string) (string, error) {
	target, err := CheckURL(target)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, target, nil)
	if err != nil {
		return "", err
	}
	response, err := c.do(r)
	if err != nil {
		return "", err
	}
	response.Body.Close()
	return cmp.Or(response.Header.Get("ETag"), response.Header.Get("Last-Modified")), nil
}

// Answer is the response to an upload.
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

// encoder is shared: creating one takes longer than encoding most uploads.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // of options that are constants
	}
	return z
})

// Send sends a body to the collector at base. If it returns no error, the collector has stored it.
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
		return nil, fmt.Errorf("%s: not a response of a collector: %w", r.URL, err)
	}
	if share, err := strconv.ParseFloat(response.Header.Get(shareHeader), 64); err == nil && share >= 0 && share <= 1 {
		a.Share = share
	}
	return a, nil
}

// SendDebug sends a program or its debug file to the collector at base.
func (c *Client) SendDebug(ctx context.Context, base, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/debug", f)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil {
		r.ContentLength = info.Size()
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	response, err := c.do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return response.Body.Close()
}

// Temporary reports whether an error of Send is one of the network, or of a collector that cannot
// take the upload now: the same may succeed later.
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
		return 0, fmt.Errorf("%s: not a response of a collector: %w", base, err)
	}
	return min(1, max(0, policy.Share)), nil
}

// Backup returns a copy of the collector at base, which Extract of package depot reads.
func (c *Client) Backup(ctx context.Context, base string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/backup", nil)
	if err != nil {
		return nil, err
	}
	slow := *c.HTTP
	if t, ok := c.HTTP.Transport.(*http.Transport); ok {
		t = t.Clone()
		t.ResponseHeaderTimeout = 0 // a snapshot is written first
		slow.Transport = t
	}
	response, err := (&Client{Token: c.Token, HTTP: &slow}).do(r)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}
