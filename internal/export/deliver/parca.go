package deliver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/cairnprof/cairn/format/pprof"
)

// Parca has the method WriteRaw of parca.profilestore.v1alpha1.ProfileStoreService, a call of gRPC. As
// it is a single request and a single response, net/http makes it, and gRPC is not linked in:
//
//	WriteRawRequest   series = 2 (RawProfileSeries), normalized = 3 (bool)
//	RawProfileSeries  labels = 1 (LabelSet), samples = 2 (RawSample)
//	LabelSet          labels = 1 (Label)
//	Label             name = 1, value = 2 (string)
//	RawSample         raw_profile = 1 (bytes, a file of pprof)
const parcaMethod = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"

// sendParca sends a profile to Parca.
func (t *Target) sendParca(ctx context.Context, p *pprof.Profile, about About) error {
	file, err := pprofFile(p)
	if err != nil {
		return err
	}
	message := writeRaw(file, &about)
	return retry(ctx, func() (time.Duration, error) { return t.call(ctx, t.URL+parcaMethod, message) })
}

// writeRaw returns a WriteRawRequest. Addresses are those of the file: the profile is normalized.
func writeRaw(file []byte, about *About) []byte {
	var set []byte
	labels := append([][2]string{{"__name__", "cairn"}, {"job", about.Service}}, about.labels()...)
	for _, l := range labels {
		label := appendBytes(nil, 1, []byte(labelName(l[0])))
		label = appendBytes(label, 2, []byte(strings.ToValidUTF8(l[1], "?")))
		set = appendBytes(set, 1, label)
	}
	series := appendBytes(nil, 1, set)
	series = appendBytes(series, 2, appendBytes(nil, 1, file))
	message := appendBytes(nil, 2, series)
	message = protowire.AppendTag(message, 3, protowire.VarintType)
	return protowire.AppendVarint(message, 1)
}

func appendBytes(to []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), data)
}

// labelName returns a name as Prometheus has it: letters, digits and underscores.
func labelName(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, text)
}

// The codes of gRPC after which a call may succeed later.
const (
	codeExhausted   = "8"
	codeUnavailable = "14"
)

// call makes a call of gRPC with one message, whose response has nothing to say.
func (t *Target) call(ctx context.Context, target string, message []byte) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(append(body, message...)))
	if err != nil {
		return never, err
	}
	maps.Copy(r.Header, t.Header)
	r.Header.Set("Content-Type", "application/grpc+proto")
	r.Header.Set("TE", "trailers")
	response, err := grpcClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if _, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)); err != nil {
		return 0, fmt.Errorf("%s: %w", t.URL, err)
	}
	// A call that fails at once has the status among the headers.
	status, text := response.Trailer.Get("Grpc-Status"), response.Trailer.Get("Grpc-Message")
	if status == "" {
		status, text = response.Header.Get("Grpc-Status"), response.Header.Get("Grpc-Message")
	}
	if unescaped, err := url.PathUnescape(text); err == nil {
		text = unescaped
	}
	switch {
	case status == "0":
		return 0, nil
	case status == "":
		return never, fmt.Errorf("%s: %s: not a server of gRPC", t.URL, response.Status)
	case status == codeExhausted || status == codeUnavailable:
		return 0, fmt.Errorf("%s: gRPC status %s: %.*s", t.URL, status, maxReason, text)
	}
	return never, fmt.Errorf("%s: gRPC status %s: %.*s", t.URL, status, maxReason, text)
}

// grpcClient speaks HTTP/2, without TLS as well.
var grpcClient = func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: t, CheckRedirect: client.CheckRedirect}
}()
