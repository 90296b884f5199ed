package deliver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	service "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/cairnprof/cairn/internal/export"
)

// otlpPath is the path of the profiles signal below a URL that has none.
const otlpPath = "/v1development/profiles"

// sendOTLP sends a profile by OTLP/HTTP.
func (t *Target) sendOTLP(ctx context.Context, p *profile.Profile, about About) error {
	data, err := export.OTLP(p, export.Resource{Service: about.Service, BuildID: about.BuildID, Writer: about.Writer})
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(data)
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
	response := new(service.ExportProfilesServiceResponse)
	if err := proto.Unmarshal(answer, response); err != nil {
		return fmt.Errorf("%s: the response is not one of OTLP: %w", target, err)
	}
	if partial := response.GetPartialSuccess(); partial.GetRejectedProfiles() > 0 {
		return fmt.Errorf("%s: %d profiles were rejected: %s", target, partial.GetRejectedProfiles(), partial.GetErrorMessage())
	}
	return nil
}

// statusMessage returns the message in a google.rpc.Status, which is what OTLP answers with a status
// that is an error: its field 2.
func statusMessage(data []byte) string {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return ""
		}
		data = data[n:]
		if number == 2 && kind == protowire.BytesType {
			text, n := protowire.ConsumeString(data)
			if n < 0 {
				return ""
			}
			return text
		}
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return ""
		}
		data = data[n:]
	}
	return ""
}
