package deliver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/internal/export"
)

// otlpPath is the path of the profiles signal below a URL that has none.
const otlpPath = "/v1development/profiles"

// sendOTLP sends a profile by OTLP/HTTP.
func (t *Target) sendOTLP(ctx context.Context, p *pprof.Profile, about About) error {
	data := export.OTLP(p, export.Resource{Service: about.Service, BuildID: about.BuildID, Writer: about.Writer})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	target := t.URL
	if u, err := url.Parse(target); err == nil && u.Path == "" {
		target += otlpPath
	}
	answer, err := t.post(ctx, target, http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"gzip"}}, packed.Bytes())
	if err != nil {
		return err
	}
	rejected, reason, ok := partialSuccess(answer)
	if !ok {
		return fmt.Errorf("%s: the response is not one of OTLP", target)
	}
	if rejected > 0 {
		return fmt.Errorf("%s: %d profiles were rejected: %s", target, rejected, reason)
	}
	return nil
}

// partialSuccess returns what an ExportProfilesServiceResponse says: its field 1 is an ExportProfilesPartialSuccess, whose
// field 1 is the number of rejected profiles and field 2 the reason. ok is false if it is no such message.
func partialSuccess(answer []byte) (rejected int64, reason string, ok bool) {
	ok = eachField(answer, func(number protowire.Number, _ uint64, data []byte) bool {
		return number != 1 || data != nil && eachField(data, func(number protowire.Number, value uint64, data []byte) bool {
			switch number {
			case 1:
				rejected = int64(value)
			case 2:
				reason = strings.ToValidUTF8(string(data), "?")
			}
			return true
		})
	})
	return rejected, reason, ok
}

// statusMessage returns the message in a google.rpc.Status, which is what OTLP answers with a status
// that is an error: its field 2.
func statusMessage(answer []byte) (text string) {
	eachField(answer, func(number protowire.Number, _ uint64, data []byte) bool {
		if number == 2 {
			text = string(data)
		}
		return true
	})
	return strings.ToValidUTF8(text, "")
}

// eachField calls f with each field of a message until it returns false: a number, or bytes, which are nil for a number.
// It reports whether the message is valid and f returned true.
func eachField(message []byte, f func(number protowire.Number, value uint64, data []byte) bool) bool {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return false
		}
		var value uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			value, _ = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			data, _ = protowire.ConsumeBytes(message)
			data = append([]byte{}, data...)
		}
		if !f(number, value, data) {
			return false
		}
		message = message[n:]
	}
	return true
}
