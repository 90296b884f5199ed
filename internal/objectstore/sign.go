package objectstore

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// keys are the credentials of requests.
type keys struct {
	id, secret, session string // session is "" for keys that do not expire
}

const (
	algorithm = "AWS4-HMAC-SHA256"
	dayFormat = "20060102"
	format    = "20060102T150405Z"
)

// sign adds the headers of Signature Version 4 of Amazon Web Services, as its reference "Create a signed AWS API
// request" describes it: a signature of the method, the path, the query, and the headers Host, Content-Type, If-*,
// Range and X-Amz-*. digest is the SHA-256 of the body in hexadecimal. The URL must have its path as it is sent.
func sign(r *http.Request, digest string, k keys, region string, now time.Time) {
	now = now.UTC()
	r.Header.Set("X-Amz-Date", now.Format(format))
	r.Header.Set("X-Amz-Content-Sha256", digest)
	if k.session != "" {
		r.Header.Set("X-Amz-Security-Token", k.session)
	}
	names, headers := signedHeaders(r)
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), canonicalQuery(r.URL.Query()), headers, names, digest}, "\n")
	scope := strings.Join([]string{now.Format(dayFormat), region, "s3", "aws4_request"}, "/")
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{algorithm, now.Format(format), scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + k.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+k.id+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(mac(key, text)))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signedHeaders returns the names of the headers that are signed, and a line for each of them.
func signedHeaders(r *http.Request) (names, lines string) {
	values := map[string]string{"host": r.URL.Host}
	if r.Host != "" {
		values["host"] = r.Host
	}
	for name, value := range r.Header {
		name = strings.ToLower(name)
		if name == "content-type" || name == "range" || strings.HasPrefix(name, "if-") || strings.HasPrefix(name, "x-amz-") {
			values[name] = strings.TrimSpace(strings.Join(value, ","))
		}
	}
	sorted := slices.Sorted(maps.Keys(values))
	var b strings.Builder
	for _, name := range sorted {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(sorted, ";"), b.String()
}

// canonicalQuery returns a query sorted by name, with all escaped that RFC 3986 does not call unreserved.
func canonicalQuery(query url.Values) string {
	return strings.ReplaceAll(query.Encode(), "+", "%20")
}
