package deliver

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// store sets the variables that name an object store.
func store(t *testing.T, server string) {
	t.Setenv("AWS_ENDPOINT_URL", server)
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret of somebody")
	for _, unset := range []string{"AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(unset, "")
	}
}

func TestBucketNames(t *testing.T) {
	for _, test := range []struct{ server, name, base, prefix, err string }{
		{"", "s3://fleet", "https://s3.us-east-1.amazonaws.com/fleet", "", ""},
		{"", "s3://fleet/a/b/", "https://s3.us-east-1.amazonaws.com/fleet", "a/b", ""},
		{"http://localhost:9000/", "s3://fleet/a", "http://localhost:9000/fleet", "a", ""},
		{"https://r2.example.com/account", "s3://fleet", "https://r2.example.com/account/fleet", "", ""},
		{"", "s3://", "", "", "the name of a place in an object store is s3://BUCKET/PREFIX"},
		{"", "s3:///a", "", "", "the name of a place in an object store is s3://BUCKET/PREFIX"},
		{"", "s3://a b", "", "", "the name of a place in an object store is s3://BUCKET/PREFIX"},
		{"localhost:9000", "s3://fleet", "", "", "AWS_ENDPOINT_URL is not a URL such as https://storage.example.com"},
		{"http://me:secret@localhost", "s3://fleet", "", "", "AWS_ENDPOINT_URL is not a URL such as https://storage.example.com"},
	} {
		store(t, test.server)
		b, err := NewBucket(test.name)
		switch {
		case err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s at %q: error %v, want %q", test.name, test.server, err, test.err)
		case err == nil && (test.err != "" || b.base.String() != test.base || b.prefix != test.prefix):
			t.Errorf("%s at %q: %s and prefix %q, want %s, %q, error %q", test.name, test.server, b.base, b.prefix, test.base, test.prefix, test.err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	if _, err := NewBucket("s3://fleet"); err == nil || !strings.Contains(err.Error(), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") {
		t.Errorf("without keys: error %v", err)
	}
}

// TestBucket checks that a gateway that verifies signatures as Amazon S3 does stores files
// under the requested names.
func TestBucket(t *testing.T) {
	bin := buildPeer(t, "versitygw", "github.com/versity/versitygw/cmd/versitygw")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "fleet"), 0o777); err != nil {
		t.Fatal(err)
	}
	run(t, bin, "--port", addr, "--access", "somebody", "--secret", "secret of somebody", "posix", "--sidecar", t.TempDir(), root)
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	store(t, "http://"+addr)
	for _, prefix := range []string{"", "a/b", "with space", "größe+1", "100%", "k=v&x?y#z"} {
		for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("0123456789"), 1<<20)} {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := put("s3://fleet/"+prefix, "t.parquet", path, t); err != nil {
				t.Fatalf("%q: %v", prefix, err)
			}
			got, err := os.ReadFile(filepath.Join(root, "fleet", prefix, "t.parquet"))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%q: error %v, or not the %d bytes that were sent, but %d", prefix, err, len(data), len(got))
			}
		}
	}
	if err := put("s3://nowhere", "t.parquet", os.Args[0], t); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("bucket that is not there: error %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	if err := put("s3://fleet", "t.parquet", os.Args[0], t); err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("wrong key: error %v", err)
	}
}

func put(bucket, name, path string, t *testing.T) error {
	b, err := NewBucket(bucket)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.Put(t.Context(), name, "application/octet-stream", f)
}
