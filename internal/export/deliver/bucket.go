package deliver

import (
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
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// BucketScheme begins the name of a place in an object store.
const BucketScheme = "s3://"

// maxObject is the size of the largest object that one PUT request may write, by the API of S3.
const maxObject = 5 << 30

// maxUpload is how long sending a file may take.
const maxUpload = time.Hour

// Bucket is a place in an object store with the API of S3: Amazon S3, Google Cloud Storage, MinIO, Ceph and others.
type Bucket struct {
	base   *url.URL // of the bucket
	prefix string   // of the names of objects, without slashes at its ends
	region string
	access aws.Credentials
}

// NewBucket returns the place that a name such as s3://bucket/prefix means. Keys, region and the URL of the server
// are those of the environment variables that Amazon's command line reads: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL.
func NewBucket(name string) (*Bucket, error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(name, BucketScheme), "/")
	if !strings.HasPrefix(name, BucketScheme) || bucket == "" || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
		return nil, fmt.Errorf("%q: the name of a place in an object store is s3://BUCKET/PREFIX", name)
	}
	b := &Bucket{
		prefix: strings.Trim(prefix, "/"),
		region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		access: aws.Credentials{
			AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
			SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
		},
	}
	if !b.access.HasKeys() {
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

// Put stores a file of that content type as the object of that name below the prefix. It replaces an object that is
// there. An object is there whole or not at all.
func (b *Bucket) Put(ctx context.Context, name, contentType string, f *os.File) error {
	size, digest, err := digestOf(f)
	if err != nil {
		return err
	}
	target := b.object(name)
	if size > maxObject {
		return fmt.Errorf("%s: %d bytes; one request to an object store may send %d", target, size, int64(maxObject))
	}
	ctx, cancel := context.WithTimeout(ctx, maxUpload)
	defer cancel()
	return retry(ctx, func() (time.Duration, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, target.String(), io.NewSectionReader(f, 0, size))
		if err != nil {
			return never, err
		}
		r.ContentLength = size
		if size == 0 {
			r.Body = http.NoBody
		}
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("X-Amz-Content-Sha256", digest)
		// Objects' names are signed as they are sent: S3 does not escape them twice, as other services do.
		signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
		if err := signer.SignHTTP(ctx, b.access, r, digest, "s3", b.region, time.Now()); err != nil {
			return never, err
		}
		_, wait, err := exchange(r)
		return wait, err
	})
}

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
