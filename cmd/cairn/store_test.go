package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/rogpeppe/go-internal/testscript"
	service "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// profileStore serves a profile store, whose URL is then in the environment variable STORE. It writes what
// it gets to a file: the name of the service, and a line for each sample with its values and its stack.
func profileStore(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: profilestore FILE")
	}
	path := ts.MkAbs(args[0])
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := received(w, r)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o666)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	ts.Defer(s.Close)
	ts.Setenv("STORE", s.URL)
}

// received reads a profile as any kind of store gets it.
func received(w http.ResponseWriter, r *http.Request) (string, error) {
	switch r.URL.Path {
	case "/ingest":
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			return "", err
		}
		f, err := r.MultipartForm.File["profile"][0].Open()
		if err != nil {
			return "", err
		}
		p, err := profile.Parse(f)
		if err != nil {
			return "", err
		}
		return r.FormValue("name") + "\n" + pprofText(p), nil
	case "/v1development/profiles":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return "", err
		}
		data, err := io.ReadAll(z)
		if err != nil {
			return "", err
		}
		return otlpText(data)
	}
	if path := "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"; r.URL.Path != path {
		return "", fmt.Errorf("no store at %s", r.URL.Path)
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	w.Header().Set("Grpc-Status", "0")
	at := max(0, bytes.Index(data, []byte("\x1f\x8b")))                                        // the file of pprof is packed
	p, err := profile.Parse(io.LimitReader(bytes.NewReader(data[at:]), int64(len(data)-at-2))) // after it is normalized = true
	if err != nil {
		return "", err
	}
	return r.URL.Path + "\n" + pprofText(p), nil
}

func pprofText(p *profile.Profile) string {
	var lines []string
	for _, s := range p.Sample {
		line := fmt.Sprint(s.Value)
		for _, l := range s.Location {
			line += " " + l.Line[0].Function.Name
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// otlpText returns the same of a request of OTLP, with a line for each sample type.
func otlpText(data []byte) (string, error) {
	request := new(service.ExportProfilesServiceRequest)
	if err := proto.Unmarshal(data, request); err != nil {
		return "", err
	}
	d := request.Dictionary
	var b strings.Builder
	for _, a := range request.ResourceProfiles[0].Resource.Attributes[:1] {
		fmt.Fprintln(&b, a.Value.GetStringValue())
	}
	for _, p := range request.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		fmt.Fprintln(&b, d.StringTable[p.SampleType.TypeStrindex], d.StringTable[p.SampleType.UnitStrindex])
		var lines []string
		for _, s := range p.Samples {
			line := fmt.Sprint(s.Values)
			for _, n := range d.StackTable[s.StackIndex].LocationIndices {
				line += " " + d.StringTable[d.FunctionTable[d.LocationTable[n].Lines[0].FunctionIndex].NameStrindex]
			}
			lines = append(lines, line)
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	return b.String(), nil
}

// otlpFile prints a file of ProfilesData as a profile store does.
func otlpFile(ts *testscript.TestScript, _ bool, args []string) {
	text, err := otlpText([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	_, err = io.WriteString(ts.Stdout(), text)
	ts.Check(err)
}
