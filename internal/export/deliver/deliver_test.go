package deliver

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	service "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/cairnprof/cairn/format/pprof"
)

// calls returns a profile in which main called work three times.
func calls() *pprof.Profile {
	main := &pprof.Function{ID: 1, Name: "main", SystemName: "main"}
	work := &pprof.Function{ID: 2, Name: "work", SystemName: "work"}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "calls", Unit: "count"}}, Function: []*pprof.Function{main, work}, TimeNanos: 1795176873250907427,
		Location: []*pprof.Location{{ID: 1, Line: []pprof.Line{{Function: main}}}, {ID: 2, Line: []pprof.Line{{Function: work}}}},
	}
	p.Sample = []*pprof.Sample{{Location: []*pprof.Location{p.Location[1], p.Location[0]}, Value: []int64{3}}}
	return p
}

var aboutApp = About{Service: "app", BuildID: "1f3c", Writer: "cairn"}

// target returns a store that a handler serves.
func target(t *testing.T, kind Kind, h http.HandlerFunc) *Target {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	to, err := New(kind, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestOTLP(t *testing.T) {
	t.Parallel()
	got := new(service.ExportProfilesServiceRequest)
	to := target(t, OTLP, func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil || r.URL.Path != "/v1development/profiles" || r.Header.Get("X-Tenant") != "a b" {
			t.Errorf("%s: %v, %v", r.URL, err, r.Header)
			return
		}
		data, err := io.ReadAll(z)
		if err == nil {
			err = proto.Unmarshal(data, got)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := addHeaders(to.Header, "x-tenant=a%20b, other=1"); err != nil {
		t.Fatal(err)
	}
	if err := to.Send(t.Context(), calls(), aboutApp); err != nil {
		t.Fatal(err)
	}
	if n := len(got.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles()[0].GetSamples()); n != 1 {
		t.Errorf("%d samples", n)
	}
}

func TestPyroscope(t *testing.T) {
	t.Parallel()
	to := target(t, Pyroscope, func(w http.ResponseWriter, r *http.Request) {
		got, err := readIngest(r)
		if err != nil {
			t.Error(err)
			return
		}
		if name := got.query["name"]; name != "app{build_id=1f3c}" || got.query["from"] != "1795176873" || got.query["until"] != "1795176874" || got.query["format"] != "pprof" {
			t.Errorf("the query is %v", got.query)
		}
		if p, err := profile.ParseData(got.parts["profile"]); err != nil || p.Sample[0].Value[0] != 3 {
			t.Errorf("%v: %v", p, err)
		}
		if c := string(got.parts["sample_type_config"]); c != `{"calls":{"units":"count","display-name":"calls","aggregation":"sum","cumulative":false,"sampled":false}}` {
			t.Error(c)
		}
	})
	if err := to.Send(t.Context(), calls(), aboutApp); err != nil {
		t.Fatal(err)
	}
}

// ingest is a request to Pyroscope.
type ingest struct {
	query map[string]string
	parts map[string][]byte
}

func readIngest(r *http.Request) (*ingest, error) {
	if r.URL.Path != "/ingest" {
		return nil, fmt.Errorf("the path is %s", r.URL.Path)
	}
	got := &ingest{map[string]string{}, map[string][]byte{}}
	for key, values := range r.URL.Query() {
		got.query[key] = values[0]
	}
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		return nil, err
	}
	for name, files := range r.MultipartForm.File {
		f, err := files[0].Open()
		if err != nil {
			return nil, err
		}
		if got.parts[name], err = io.ReadAll(f); err != nil {
			return nil, err
		}
	}
	return got, nil
}

func TestParca(t *testing.T) {
	t.Parallel()
	to := target(t, Parca, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ProtoMajor != 2 || r.URL.Path != parcaMethod || !bytes.Contains(body, []byte("build_id")) {
			t.Errorf("%s %s: %v, %d bytes", r.Proto, r.URL, err, len(body))
		}
		w.Header().Set("Trailer", "Grpc-Status")
		w.Header().Set("Content-Type", "application/grpc")
		w.Write([]byte{0, 0, 0, 0, 0}) //nolint:errcheck // an empty message
		w.Header().Set("Grpc-Status", "0")
	})
	if err := to.Send(t.Context(), calls(), aboutApp); err != nil {
		t.Fatal(err)
	}
}

// TestRefused checks that an error has the answer of the store, that permanent errors are not
// retried, and that the others are retried several times.
func TestRefused(t *testing.T) {
	t.Parallel()
	busy := func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "0")
		http.Error(w, "later", http.StatusServiceUnavailable)
	}
	for _, test := range []struct {
		name   string
		kind   Kind
		answer func(w http.ResponseWriter)
		tries  int
		want   string
	}{
		{"not found", OTLP, func(w http.ResponseWriter) { http.Error(w, "no such\npath", http.StatusNotFound) }, 1, "404 Not Found: no such path"},
		{"a page", OTLP, func(w http.ResponseWriter) { http.Error(w, "<html>", http.StatusForbidden) }, 1, "403 Forbidden"},
		{"a status of OTLP", OTLP, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			w.WriteHeader(http.StatusBadRequest)
			w.Write([]byte("\x08\x03\x12\x04nope")) //nolint:errcheck // the client checks
		}, 1, "400 Bad Request: nope"},
		{"partly", OTLP, func(w http.ResponseWriter) {
			data, _ := proto.Marshal(&service.ExportProfilesServiceResponse{PartialSuccess: &service.ExportProfilesPartialSuccess{RejectedProfiles: 1, ErrorMessage: "too old"}})
			w.Write(data) //nolint:errcheck // the client checks
		}, 1, "1 profiles were rejected: too old"},
		{"no OTLP", OTLP, func(w http.ResponseWriter) { io.WriteString(w, "<html>") }, 1, "not one of OTLP"}, //nolint:errcheck // the client checks
		{"redirect", Pyroscope, func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(http.StatusFound) }, 1, "/ingest: 302 Found"},
		{"busy once", Pyroscope, nil, 2, ""},
		{"no gRPC", Parca, func(w http.ResponseWriter) { http.Error(w, "", http.StatusNotFound) }, 1, "404 Not Found: not a server of gRPC"},
		{"refused", Parca, func(w http.ResponseWriter) {
			w.Header().Set("Grpc-Status", "3")
			w.Header().Set("Grpc-Message", "no%20name")
		}, 1, "gRPC status 3: no name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			to := target(t, test.kind, func(w http.ResponseWriter, r *http.Request) {
				if tries++; test.answer != nil {
					test.answer(w)
				} else if tries == 1 {
					busy(w)
				}
			})
			err := to.Send(t.Context(), calls(), aboutApp)
			switch {
			case tries != test.tries:
				t.Errorf("%d requests", tries)
			case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.HasSuffix(err.Error(), test.want)):
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:4318", "ftp://x", "http://u:p@host", "http://host?x=1"} {
		if _, err := New(OTLP, url); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
	for _, list := range []string{"secret", "=secret", "a=secret%zz", "a=secret%0d%0ac"} {
		if err := addHeaders(http.Header{}, list); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", list, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to, err := New(OTLP, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Send(ctx, calls(), aboutApp); err == nil {
		t.Error("a canceled delivery succeeds")
	}
}

func FuzzStatusMessage(f *testing.F) {
	f.Add([]byte("\x08\x03\x12\x04nope"))
	f.Add([]byte("\x12\xff"))
	f.Fuzz(func(t *testing.T, data []byte) { statusMessage(data) })
}

// keys returns the keys of an object of JSON objects.
func keys(t *testing.T, data []byte) []string {
	var types map[string]map[string]any
	if err := json.Unmarshal(data, &types); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]bool)
	for _, fields := range types {
		for name := range fields {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
