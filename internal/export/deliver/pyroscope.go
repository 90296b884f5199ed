package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/pprof"
)

// sendPyroscope sends a profile to POST /ingest of Pyroscope, as a form with two files: the profile, and
// how to show its sample types. Without the second, Pyroscope drops types that it does not know.
func (t *Target) sendPyroscope(ctx context.Context, p *pprof.Profile, about About) error {
	file, err := pprofFile(p)
	if err != nil {
		return err
	}
	types, err := json.Marshal(sampleTypes(p))
	if err != nil {
		return err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, part := range []struct {
		name string
		data []byte
	}{{"profile", file}, {"sample_type_config", types}} {
		w, err := form.CreateFormFile(part.name, part.name)
		if err == nil {
			_, err = io.Copy(w, bytes.NewReader(part.data))
		}
		if err != nil {
			return err
		}
	}
	if err := form.Close(); err != nil {
		return err
	}
	// Pyroscope takes whole seconds, and the end must be after the start.
	from := time.Unix(0, p.TimeNanos)
	until := from.Add(max(time.Duration(p.DurationNanos), time.Second))
	query := url.Values{
		"name": {pyroscopeName(&about)}, "format": {"pprof"}, "spyName": {"cairn"},
		"from": {strconv.FormatInt(from.Unix(), 10)}, "until": {strconv.FormatInt(until.Unix(), 10)},
	}
	_, err = t.post(ctx, t.URL+"/ingest?"+query.Encode(), http.Header{"Content-Type": {form.FormDataContentType()}}, body.Bytes())
	// The query is long, and says nothing new.
	if wrong := (*url.Error)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%s/ingest: %w", t.URL, wrong.Err)
	}
	if err != nil {
		return errors.New(strings.Replace(err.Error(), "?"+query.Encode(), "", 1))
	}
	return nil
}

// sampleType is what Pyroscope is told of a sample type.
type sampleType struct {
	Units       string `json:"units"`
	DisplayName string `json:"display-name"`
	Aggregation string `json:"aggregation"`
	Cumulative  bool   `json:"cumulative"`
	Sampled     bool   `json:"sampled"`
}

func sampleTypes(p *pprof.Profile) map[string]sampleType {
	types := make(map[string]sampleType)
	for _, t := range p.SampleType {
		types[t.Type] = sampleType{Units: unit(t), DisplayName: t.Type, Aggregation: "sum"}
	}
	return types
}

// pyroscopeName returns the name of an application with its labels: app{build_id=1f3c}.
func pyroscopeName(about *About) string {
	name := nameOnly(about.Service)
	var labels []string
	for _, l := range about.labels() {
		labels = append(labels, nameOnly(l[0])+"="+nameOnly(l[1]))
	}
	return name + "{" + strings.Join(labels, ",") + "}"
}

// nameOnly replaces what Pyroscope's syntax of names has a meaning for.
func nameOnly(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune(`{}=,"`, r) {
			return '_'
		}
		return r
	}, text)
}
