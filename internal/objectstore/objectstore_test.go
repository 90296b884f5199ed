package objectstore

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/objectstore/storetest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// setStore sets the variables that name an object store.
func setStore(t *testing.T, server string) {
	t.Helper()
	for _, variable := range storetest.Environment(server) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
}

func TestNames(t *testing.T) {
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
		setStore(t, test.server)
		b, err := Open(test.name)
		switch {
		case err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s at %q: error %v, want %q", test.name, test.server, err, test.err)
		case err == nil && (test.err != "" || b.base.String() != test.base || b.prefix != test.prefix):
			t.Errorf("%s at %q: %s and prefix %q, want %s, %q, error %q", test.name, test.server, b.base, b.prefix, test.base, test.prefix, test.err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	if _, err := Open("s3://fleet"); err == nil || !strings.Contains(err.Error(), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") {
		t.Errorf("without keys: error %v", err)
	}
}

// TestSign checks signatures that Amazon's documentation gives as examples: "Authenticating Requests: Using the
// Authorization Header" of the API reference of S3.
func TestSign(t *testing.T) {
	t.Parallel()
	now := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	k := keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""}
	for _, test := range []struct {
		url, header, want string
	}{
		{"https://examplebucket.s3.amazonaws.com/test.txt", "bytes=0-9", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"https://examplebucket.s3.amazonaws.com/?lifecycle", "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if test.header != "" {
			r.Header.Set("Range", test.header)
		}
		sign(r, emptyDigest, k, "us-east-1", now)
		if _, got, _ := strings.Cut(r.Header.Get("Authorization"), "Signature="); got != test.want {
			t.Errorf("%s: %s, want the signature %s", test.url, r.Header.Get("Authorization"), test.want)
		}
	}
}

// TestStore checks the requests with a store that verifies signatures.
func TestStore(t *testing.T) {
	shorttest.Proof(t)
	store := storetest.Start(t)
	setStore(t, store.URL)
	for _, prefix := range []string{"", "a/b", "with space", "größe+1", "100%", "k=v&x?y#z"} {
		b, err := Open("s3://fleet/" + prefix)
		if err != nil {
			t.Fatal(err)
		}
		testFiles(t, b, filepath.Join(store.Root, "fleet", prefix))
		testLists(t, b)
		testConditions(t, b)
	}
	nowhere, err := Open("s3://nowhere")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nowhere.Put(t.Context(), "x", nil, Condition{}); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("bucket that is not there: error %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	b, err := Open("s3://fleet")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Get(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("wrong key: error %v", err)
	}
}

// testFiles checks that files are stored under the requested names.
func testFiles(t *testing.T, b *Bucket, dir string) {
	t.Helper()
	for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("0123456789"), 1<<20)} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := b.PutFile(t.Context(), "t.parquet", "application/octet-stream", f); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if got, _, err := b.Get(t.Context(), "t.parquet"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: Get: error %v, or not the %d bytes that were sent, but %d", b, err, len(data), len(got))
		}
		if os.Getenv(storetest.Variable) != "" {
			continue // a store whose files are elsewhere
		}
		if got, err := os.ReadFile(filepath.Join(dir, "t.parquet")); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: error %v, or not the %d bytes that were sent, but %d", b, err, len(data), len(got))
		}
	}
	if err := b.Delete(t.Context(), "t.parquet"); err != nil {
		t.Error(err)
	}
	if _, _, err := b.Get(t.Context(), "t.parquet"); !errors.Is(err, ErrNone) {
		t.Errorf("after Delete: %v", err)
	}
	if err := b.Delete(t.Context(), "t.parquet"); err != nil {
		t.Errorf("Delete again: %v", err)
	}
}

// testLists checks lists of objects.
func testLists(t *testing.T, b *Bucket) {
	t.Helper()
	const n = 5
	for i := range n {
		if _, err := b.Put(t.Context(), fmt.Sprintf("list/%d", i), make([]byte, i), Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.ListAll(t.Context(), "list/", "list/1")
	if err != nil || len(all) != n-2 {
		t.Fatalf("%s: %v, %v", b, all, err)
	}
	for i, o := range all {
		if o.Name != fmt.Sprintf("list/%d", i+2) || o.Size != int64(i+2) || time.Since(o.Modified).Abs() > time.Hour {
			t.Errorf("%s: object %d is %v", b, i, o)
		}
	}
}

// testConditions checks that of many that create an object, or replace the same one, one succeeds.
func testConditions(t *testing.T, b *Bucket) {
	t.Helper()
	only := Condition{Absent: true}
	for round := range 3 {
		var won atomic.Int64
		var etag atomic.Pointer[string]
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				got, err := b.Put(t.Context(), "one", []byte{byte(i), byte(round)}, only) // an ETag may be a hash of the content
				switch {
				case err == nil:
					won.Add(1)
					etag.Store(&got)
				case !errors.Is(err, ErrExists):
					t.Errorf("%s: %v", b, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%s: %d of 8 requests with %+v succeeded", b, won.Load(), only)
		}
		if _, now, err := b.Get(t.Context(), "one"); err != nil || now != *etag.Load() {
			t.Errorf("%s: the ETag is %s, %v, and was %s", b, now, err, *etag.Load())
		}
		only = Condition{Match: *etag.Load()}
	}
	if err := b.Delete(t.Context(), "one"); err != nil {
		t.Error(err)
	}
}

// TestClock lets the machine's clock jump by decades: requests get the time of the store.
func TestClock(t *testing.T) {
	shorttest.Proof(t)
	store := storetest.Start(t)
	setStore(t, store.URL)
	b, err := Open(storetest.Place + "/clock")
	if err != nil {
		t.Fatal(err)
	}
	for i, ahead := range []time.Duration{0, 20 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour, 3 * time.Hour, 0} {
		b.now = func() time.Time { return time.Now().Add(ahead) }
		if _, err := b.Put(t.Context(), fmt.Sprint(i), []byte("x"), Condition{Absent: true}); err != nil {
			t.Errorf("%v ahead: %v", ahead, err)
		}
		if list, err := b.ListAll(t.Context(), "", ""); err != nil || len(list) != i+1 {
			t.Errorf("%v ahead: %d objects, %v", ahead, len(list), err)
		}
	}
}
