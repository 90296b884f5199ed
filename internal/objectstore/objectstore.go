// Package objectstore stores objects in a store with the API of Amazon S3: Amazon S3, Google Cloud Storage, MinIO, Ceph,
// Cloudflare R2 and others. It has the few requests that cairn needs, signed by Signature Version 4.
//
// An object is there whole or not at all, and is never changed in place. A store must be consistent: once Put has
// returned, Get and List find the object. Amazon S3 is since 2020, and so are the others named here.
package objectstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Scheme begins the name of a place in an object store.
const Scheme = "s3://"

// MaxObject is the size in bytes of the largest object that one request may write, by the API of S3.
const MaxObject = 5 << 30

// Bucket is a place in an object store. Its methods may be called by any number of goroutines.
type Bucket struct {
	base   *url.URL // of the bucket
	prefix string   // of the names of objects, without slashes at its ends
	region string
	access keys
	client *http.Client
	now    func() time.Time // the machine's clock
	ahead  atomic.Int64     // how far the store's clock is ahead of it, nanoseconds
}

// idle is how many connections without a request are kept: as many as callers have requests at a time.
const idle = 16

// Open returns the place that a name such as s3://bucket/prefix means. It sends no request. Keys, region and the URL of
// the server are those of the environment variables that Amazon's command line reads: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL.
func Open(name string) (*Bucket, error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(name, Scheme), "/")
	if !strings.HasPrefix(name, Scheme) || bucket == "" || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
		return nil, fmt.Errorf("%q: the name of a place in an object store is s3://BUCKET/PREFIX", name)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idle
	b := &Bucket{
		now:    time.Now,
		prefix: strings.Trim(prefix, "/"),
		region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		access: keys{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")},
		client: &http.Client{
			Transport: transport,
			// A redirect has no signature of its own.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if b.access.id == "" || b.access.secret == "" {
		return nil, fmt.Errorf("%s: no keys of the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", name)
	}
	server := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	if server == "" {
		b.base = &url.URL{Scheme: "https", Host: "s3." + b.region + ".amazonaws.com", Path: "/" + bucket}
		return b, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("AWS_ENDPOINT_URL is not a URL such as https://storage.example.com")
	}
	b.base = u.JoinPath(bucket)
	return b, nil
}

// String returns the URL of the place.
func (b *Bucket) String() string { return b.object("").String() }

// object returns the URL of an object. All but the characters that RFC 3986 calls unreserved are escaped: stores compute
// the signature from a path that is escaped so.
func (b *Bucket) object(name string) *url.URL {
	u := b.base.JoinPath()
	u.Path = path.Join("/", b.base.Path, b.prefix, name)
	segments := strings.Split(u.Path, "/")
	for i, segment := range segments {
		segments[i] = reserved.Replace(url.PathEscape(segment))
	}
	u.RawPath = strings.Join(segments, "/")
	return u
}

// reserved escapes what url.PathEscape leaves.
var reserved = strings.NewReplacer("$", "%24", "&", "%26", "+", "%2B", ":", "%3A", "=", "%3D", "@", "%40")

// Error is a response of the store that is an error.
type Error struct {
	URL     string
	Status  int    // of HTTP
	Code    string // such as NoSuchKey, "" if the response has none
	Message string
	After   time.Duration // after which the store asks to try again
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %d %s", e.URL, e.Status, http.StatusText(e.Status))
	if e.Code != "" {
		text += ": " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

var (
	// ErrExists is in the error of Put with IfAbsent if there is an object of that name, and of IfMatch if it has changed.
	ErrExists = errors.New("the object exists, or was replaced by another process")
	// ErrNone is in the error of Get if there is no such object.
	ErrNone = errors.New("no such object")
)

// Is makes errors.Is find ErrExists and ErrNone.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrExists:
		return e.Status == http.StatusPreconditionFailed
	case ErrNone:
		// Any other 404 says nothing of the object: the bucket or the user is not there, or a proxy answers.
		return e.Status == http.StatusNotFound && e.Code == "NoSuchKey"
	}
	return false
}

// Again reports whether the same request may succeed later: the store is overloaded, has failed, or could not be reached.
// It may have been executed all the same.
func Again(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return err != nil
	}
	if e.Code == skewed {
		return true
	}
	switch e.Status {
	// S3 answers 409 to the loser of two conditional requests at the same time.
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Condition is a condition of Put.
type Condition struct {
	Absent bool   // there is no object of that name
	Match  string // the object has this ETag, unless it is ""
}

// Put stores an object and returns its ETag. Without a condition it replaces an object that is there. Requests whose
// response is lost are sent again: after ErrExists the object may be the one that this call has stored.
func (b *Bucket) Put(ctx context.Context, name string, data []byte, only Condition) (etag string, err error) {
	sum := sha256.Sum256(data)
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if only.Absent {
		header.Set("If-None-Match", "*")
	}
	if only.Match != "" {
		header.Set("If-Match", only.Match)
	}
	r := request{method: http.MethodPut, url: b.object(name), header: header, body: bytes.NewReader(data), size: int64(len(data)), digest: hex.EncodeToString(sum[:])}
	_, got, err := b.do(ctx, &r)
	return got.Get("ETag"), err
}

// PutFile stores a file of a content type as an object, and replaces one that is there.
func (b *Bucket) PutFile(ctx context.Context, name, contentType string, f *os.File) error {
	size, digest, err := digestOf(f)
	if err != nil {
		return err
	}
	if size > MaxObject {
		return fmt.Errorf("%s: %d bytes; one request to an object store may send %d", b.object(name), size, int64(MaxObject))
	}
	header := http.Header{"Content-Type": {contentType}}
	r := request{method: http.MethodPut, url: b.object(name), header: header, body: f, size: size, digest: digest, timeout: maxSend}
	_, _, err = b.do(ctx, &r)
	return err
}

// digestOf returns a file's size and the SHA-256 of its bytes.
func digestOf(f *os.File) (size int64, digest string, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size()))
	if err == nil && n != info.Size() {
		err = errors.New("the file was cut while it was read")
	}
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}

// Get returns an object and its ETag.
func (b *Bucket) Get(ctx context.Context, name string) (data []byte, etag string, err error) {
	data, header, err := b.do(ctx, &request{method: http.MethodGet, url: b.object(name)})
	return data, header.Get("ETag"), err
}

// OpenObject returns a reader of an object, and its size in bytes.
func (b *Bucket) OpenObject(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	response, err := b.send(ctx, &request{method: http.MethodGet, url: b.object(name)})
	if err != nil {
		return nil, 0, err
	}
	return response.Body, response.ContentLength, nil
}

// Delete removes an object. It is no error if there is none.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	_, _, err := b.do(ctx, &request{method: http.MethodDelete, url: b.object(name)})
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// Object is an object in a list.
type Object struct {
	Name     string
	Size     int64
	Modified time.Time // by the store's clock
}

// List returns the objects whose names begin with a text and come after another in the order of bytes, in that order. If
// more is true there are more after the last of them.
func (b *Bucket) List(ctx context.Context, begin, after string) (list []Object, more bool, err error) {
	root := b.prefix
	if root != "" {
		root += "/"
	}
	query := url.Values{"list-type": {"2"}, "prefix": {root + begin}}
	if after != "" {
		query.Set("start-after", root+after)
	}
	u := b.base.JoinPath()
	u.RawQuery = canonicalQuery(query)
	data, _, err := b.do(ctx, &request{method: http.MethodGet, url: u})
	if err != nil {
		return nil, false, err
	}
	answer, err := readListing(data)
	if err != nil {
		return nil, false, fmt.Errorf("%s: the list of objects: %w", u.Redacted(), err)
	}
	for _, o := range answer.objects {
		o.Name = strings.TrimPrefix(o.Name, root)
		list = append(list, o)
	}
	return list, answer.truncated && len(list) > 0, nil
}

// ListAll returns all objects whose names begin with a text.
func (b *Bucket) ListAll(ctx context.Context, begin, after string) (all []Object, err error) {
	for more := true; more; {
		var list []Object
		if list, more, err = b.List(ctx, begin, after); err != nil {
			return nil, err
		}
		if all = append(all, list...); more {
			after = list[len(list)-1].Name
		}
	}
	return all, nil
}

// request is a request to the store.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   io.ReaderAt // nil for none
	size   int64       // of body
	digest string      // of body

	timeout time.Duration // 0 for the usual one
}

// emptyDigest is the SHA-256 of nothing.
const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// maxAnswer is the size in bytes of the largest object that Get returns: an object is held in memory.
const maxAnswer = 1 << 30

// Bounds of attempts to send a request.
const (
	attempts = 8
	pause    = 100 * time.Millisecond // after the first, and twice as long after each further one
	longest  = 30 * time.Second       // that the store may ask to wait
	timeout  = time.Minute            // of a request, but for that of a file
	maxSend  = time.Hour              // for sending a file
)

// do sends a request until it succeeds, fails for good, or has failed too often, and returns the body of the response.
func (b *Bucket) do(ctx context.Context, q *request) (data []byte, header http.Header, err error) {
	for n := 0; ; n++ {
		data, header, err = b.once(ctx, q)
		if err == nil || !Again(err) || n == attempts-1 {
			return data, header, err
		}
		wait := pause << n
		if e := (*Error)(nil); errors.As(err, &e) {
			wait = max(wait, min(e.After, longest))
		}
		select {
		case <-ctx.Done():
			return nil, nil, errors.Join(err, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// once sends a request and returns the body of the response.
func (b *Bucket) once(ctx context.Context, q *request) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(q.timeout, timeout))
	defer cancel()
	response, err := b.send(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		err = fmt.Errorf("more than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", q.url, err)
	}
	return data, response.Header, nil
}

// send sends a request and returns the response if it is no error.
func (b *Bucket) send(ctx context.Context, q *request) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if q.size > 0 {
		body = io.NewSectionReader(q.body, 0, q.size)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, q.url.String(), body)
	if err != nil {
		return nil, err
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	r.ContentLength = q.size
	sign(r, cmp.Or(q.digest, emptyDigest), b.access, b.region, b.now().Add(time.Duration(b.ahead.Load())))
	response, err := b.client.Do(r)
	if err != nil || response.StatusCode/100 == 2 {
		return response, err
	}
	defer response.Body.Close()
	e := failure(q.url, response)
	if e.Code == skewed {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			b.ahead.Store(int64(date.Sub(b.now())))
		}
	}
	return nil, e
}

// skewed is the code of the error if the time of a request is not that of the store's clock, within 15 minutes. The next
// attempt has the time of the store.
const skewed = "RequestTimeTooSkewed"

const maxReason = 300 // bytes of a message that are shown

// failure returns the error in a response.
func failure(u *url.URL, response *http.Response) *Error {
	e := &Error{URL: u.String(), Status: response.StatusCode}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // 0 without one
	e.After = time.Duration(max(0, seconds)) * time.Second
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16)) // the status says that it failed
	// What is no XML has no code.
	_ = readXML(body, "Error", func(path, text string) error {
		switch path {
		case "Code":
			e.Code = oneLine(text)
		case "Message":
			e.Message = oneLine(text)
		}
		return nil
	})
	return e
}

// oneLine returns the beginning of a text as one line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), maxReason)], ""))
}
