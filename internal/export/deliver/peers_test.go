package deliver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// peer builds a program of the module in the directory peers, whose dependencies are not those of cairn.
func peer(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("building " + name + " takes minutes")
	}
	bin := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "peers", "-mod=mod", "-o", bin, "./"+name)
	if out, err := build.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "proxy") || strings.Contains(string(out), "dial tcp") {
			t.Skipf("%s cannot be built without its modules: %s", name, out)
		}
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return bin
}

// run starts a peer and returns what it writes to standard output.
func run(t *testing.T, bin string, args ...string) io.Reader {
	t.Helper()
	c := exec.Command(bin, args...)
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill() //nolint:errcheck // it may have ended
		c.Wait()         //nolint:errcheck // it was killed
	})
	return out
}

// TestCollector checks that the collector of OpenTelemetry accepts a profile and forwards it,
// as JSON, unchanged.
func TestCollector(t *testing.T) {
	t.Parallel()
	bin := peer(t, "otelcol")
	got := make(chan []byte, 1)
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}") //nolint:errcheck // the collector checks
		got <- data
	}))
	defer sink.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf(`
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {otlp_http: {profiles_endpoint: %q, encoding: json, compression: none}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [otlp_http]}}
`, addr, sink.URL+"/v1development/profiles")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, bin, "--config", "file:"+config, "--feature-gates", "service.profilesSupport")
	to, err := New(OTLP, "http://"+addr)
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if err = to.Send(t.Context(), calls(), aboutApp); err == nil {
			break
		}
		if time.Since(start) > 2*time.Minute {
			t.Fatal(err)
		}
	}
	var request struct {
		ResourceProfiles []struct {
			Resource struct {
				Attributes []struct {
					Value struct{ StringValueStrindex int }
				}
			}
			ScopeProfiles []struct {
				Profiles []struct {
					Samples []struct {
						StackIndex int
						Values     []json.RawMessage
					}
				}
			}
		}
		Dictionary struct {
			StringTable   []string
			StackTable    []struct{ LocationIndices []int }
			FunctionTable []struct{ NameStrindex int }
			LocationTable []struct{ Lines []struct{ FunctionIndex int } }
		}
	}
	data := <-got
	if err := json.Unmarshal(data, &request); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	r, d := request.ResourceProfiles[0], request.Dictionary
	service := r.Resource.Attributes[0].Value.StringValueStrindex // the collector moves strings to the table
	sample := r.ScopeProfiles[0].Profiles[0].Samples[0]
	var names []string
	for _, l := range d.StackTable[sample.StackIndex].LocationIndices {
		names = append(names, d.StringTable[d.FunctionTable[d.LocationTable[l].Lines[0].FunctionIndex].NameStrindex])
	}
	if value := strings.Trim(string(sample.Values[0]), `"`); !slices.Equal(names, []string{"work", "main"}) || value != "3" || d.StringTable[service] != "app" {
		t.Errorf("the collector sent %s", data)
	}
}

// TestParcaServer checks that a server of grpc-go with Parca's proto file accepts the profile.
func TestParcaServer(t *testing.T) {
	t.Parallel()
	lines := bufio.NewReader(run(t, peer(t, "parca"), "127.0.0.1:0"))
	addr, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	to, err := New(Parca, "http://"+strings.TrimSpace(addr))
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Send(t.Context(), calls(), aboutApp); err != nil {
		t.Fatal(err)
	}
	line, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var request struct {
		Series []struct {
			Labels struct {
				Labels []struct{ Name, Value string }
			}
			Samples []struct{ RawProfile []byte }
		}
		Normalized bool
	}
	if err := json.Unmarshal(line, &request); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	labels := fmt.Sprint(request.Series[0].Labels.Labels)
	if labels != "[{__name__ cairn} {job app} {build_id 1f3c}]" || !request.Normalized || len(request.Series[0].Samples) != 1 {
		t.Errorf("the server got %s", line)
	}
	broken := calls()
	broken.SampleType = nil // which makes it invalid
	if err := to.Send(t.Context(), broken, aboutApp); err == nil || !strings.Contains(err.Error(), "gRPC status 3") {
		t.Errorf("a profile that is not valid: %v", err)
	}
}

// TestPyroscopeClient compares a request with one of Pyroscope's own client. The license of its
// server does not permit building it here.
func TestPyroscopeClient(t *testing.T) {
	t.Parallel()
	bin := peer(t, "pyroscope")
	got := make(chan *ingest, 2)
	to := target(t, Pyroscope, func(w http.ResponseWriter, r *http.Request) {
		in, err := readIngest(r)
		if err != nil {
			t.Error(err)
		}
		got <- in
	})
	if err := to.Send(t.Context(), calls(), aboutApp); err != nil {
		t.Fatal(err)
	}
	ours := <-got
	file := filepath.Join(t.TempDir(), "app.pb.gz")
	if err := os.WriteFile(file, ours.parts["profile"], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), bin, to.URL, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	theirs := <-got
	if a, b := slices.Sorted(maps.Keys(ours.parts)), slices.Sorted(maps.Keys(theirs.parts)); !slices.Equal(a, b) {
		t.Errorf("we send the files %q, the client of Pyroscope %q", a, b)
	}
	if ours.query["name"] != theirs.query["name"] {
		t.Errorf("we send the name %q, the client of Pyroscope %q", ours.query["name"], theirs.query["name"])
	}
	for key := range ours.query {
		if _, ok := theirs.query[key]; !ok && key != "format" { // which the client leaves to the content type
			t.Errorf("the client of Pyroscope does not send %q", key)
		}
	}
	if a, b := keys(t, ours.parts["sample_type_config"]), keys(t, theirs.parts["sample_type_config"]); !slices.Equal(a, b) {
		t.Errorf("we describe sample types by %q, the client of Pyroscope by %q", a, b)
	}
}
