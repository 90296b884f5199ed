package gate

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/fleet/view"
	"github.com/cairnprof/cairn/prof"
)

// visible returns the builds of a query that a request may see.
func (g *Gate) visible(r *http.Request, q tally.Query) ([]tally.Build, error) {
	grant := g.grant(r)
	q.Programs = grant.claims()
	return g.c.Builds(r.Context(), q)
}

// build returns the build that a path names by its id, if the request may see it.
func (g *Gate) build(r *http.Request) (prof.BuildID, error) {
	id, err := hex.DecodeString(r.PathValue("build"))
	if err != nil || len(id) == 0 {
		return "", errBuildID
	}
	builds, err := g.visible(r, tally.Query{IDs: []string{hex.EncodeToString(id)}})
	if err != nil {
		return "", err
	}
	if len(builds) == 0 {
		return "", tally.ErrNone
	}
	return prof.BuildID(id), nil
}

var errBuildID = errors.New("not a build id in hexadecimal")

// fail answers with an error of the backend.
func (g *Gate) fail(w http.ResponseWriter, r *http.Request, err error) {
	g.refuse(w, r, statusOf(err, http.StatusInternalServerError), err.Error())
}

// Lengths of pages.
const (
	pageBuilds    = 1000 // of the list of builds
	pageIndex     = 200  // builds of the page for people
	pageFunctions = 1000 // functions with spikes of a report
)

var errCursor = errors.New("after: not the value of next in an answer")

// cursor reads the position behind which a page begins, from the query of a request. It is nil for the first page.
func cursor[T any](r *http.Request) (*T, error) {
	text := r.URL.Query().Get("after")
	if text == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, errCursor
	}
	at := new(T)
	if json.Unmarshal(data, at) != nil {
		return nil, errCursor
	}
	return at, nil
}

// next returns the text of a position.
func next(at any) string {
	data, err := json.Marshal(at)
	if err != nil {
		panic(err) // of numbers and text
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// page returns the builds of a page, and the text of the position of the next page, "" for the last.
func (g *Gate) page(r *http.Request, length int) (list []tally.Build, after string, err error) {
	at, err := cursor[tally.Cursor](r)
	if err != nil {
		return nil, "", err
	}
	if list, err = g.visible(r, tally.Query{After: at, Limit: length + 1}); err != nil {
		return nil, "", err
	}
	if len(list) > length {
		list = list[:length]
		after = next(list[length-1].Cursor())
	}
	return list, after, nil
}

func (g *Gate) builds(w http.ResponseWriter, r *http.Request) {
	list, after, err := g.page(r, pageBuilds)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	answer(w, struct {
		Version int           `json:"version"`
		Builds  []tally.Build `json:"builds"`
		Next    string        `json:"next,omitempty"`
	}{1, list, after})
}

func (g *Gate) buildMap(w http.ResponseWriter, r *http.Request) {
	id, err := g.build(r)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	data, err := g.c.Map(r.Context(), id)
	g.give(w, r, data, err)
}

// logs answers with the list of the logs of a build.
func (g *Gate) logs(w http.ResponseWriter, r *http.Request) {
	id, err := g.build(r)
	var list []tally.Log
	if err == nil {
		list, err = g.c.Logs(r.Context(), id)
	}
	if err != nil {
		g.fail(w, r, err)
		return
	}
	for i := range list {
		list[i].Object, list[i].Index, list[i].Sender = "", 0, ""
	}
	answer(w, struct {
		Version int         `json:"version"`
		Build   string      `json:"build"`
		Logs    []tally.Log `json:"logs"`
	}{1, id.String(), append([]tally.Log{}, list...)})
}

// logFile answers with a log.
func (g *Gate) logFile(w http.ResponseWriter, r *http.Request) {
	id, err := g.build(r)
	var key inbox.Key
	if err == nil && key.UnmarshalText([]byte(r.PathValue("key"))) != nil {
		err = tally.ErrNone
	}
	var data []byte
	if err == nil {
		data, err = g.c.LogFile(r.Context(), id, key)
	}
	// A name from a device must not go into a header.
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.cairnlog"`, key))
	g.give(w, r, data, err)
}

// index answers with the page of all programs.
func (g *Gate) index(w http.ResponseWriter, r *http.Request) {
	builds, after, err := g.page(r, pageIndex)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	var notes []string
	if s := g.c.Status(); s.Err != nil {
		notes = append(notes, "Uploads are rejected: "+s.Err.Error())
	}
	var b bytes.Buffer
	if err := view.WriteIndex(&b, builds, notes, after); err != nil {
		g.fail(w, r, err)
		return
	}
	givePage(w, b.Bytes())
}

func givePage(w http.ResponseWriter, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(page) // the client may have disconnected
}

func (g *Gate) viewPage(w http.ResponseWriter, r *http.Request) {
	report, err := g.report(r)
	var b bytes.Buffer
	if err == nil {
		err = report.Write(&b)
	}
	if err != nil {
		g.fail(w, r, err)
		return
	}
	givePage(w, b.Bytes())
}

func (g *Gate) viewJSON(w http.ResponseWriter, r *http.Request) {
	report, err := g.report(r)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	answer(w, report)
}

// report computes the report of the build that a path names. Without a build it is the newest.
func (g *Gate) report(r *http.Request) (*view.Report, error) {
	at, err := cursor[view.SpikesCursor](r)
	if err != nil {
		return nil, err
	}
	program, prefix, _ := strings.Cut(r.PathValue("profile"), "@")
	builds, err := g.visible(r, tally.Query{Named: true, Program: program})
	if err != nil {
		return nil, err
	}
	if err := g.reads.acquire(r.Context(), 1); err != nil {
		return nil, err
	}
	defer g.reads.giveBack(1)
	ids, err := tally.Select(builds, program, strings.ToLower(prefix), false)
	if err != nil {
		return nil, err
	}
	id, before := newest(builds, program, ids)
	m, err := g.module(r.Context(), id)
	if errors.Is(err, tally.ErrNone) { // there are logs only
		m, err = &prof.Module{Map: prof.Map{Module: program, BuildID: id}}, nil
	}
	if err != nil {
		return nil, err
	}
	spikes, err := g.c.Spikes(r.Context(), id)
	if err != nil {
		return nil, err
	}
	names := &m.Map
	if len(m.Funcs) == 0 && len(spikes) > 0 {
		names = g.symbols(r.Context(), id)
	}
	var old *prof.Module
	if before != "" && m.Raws > 0 {
		if old, err = g.module(r.Context(), before); err != nil {
			return nil, err
		}
	}
	report := view.New(m, old, names, spikes)
	if last := report.Page(at, pageFunctions); last != nil {
		report.Next = next(last)
	}
	return report, nil
}

// symbols returns the functions of a build by the program or debug file that was sent, none if
// there is none.
func (g *Gate) symbols(ctx context.Context, id prof.BuildID) *prof.Map {
	none := &prof.Map{BuildID: id}
	if g.o.Debug == nil {
		return none
	}
	if m := g.maps.get(id); m != nil {
		return m
	}
	for _, kind := range []string{"debuginfo", "executable"} {
		f, _, err := g.o.Debug.Debug(ctx, id, kind)
		if err != nil {
			continue
		}
		m, err := g.readSymbols(f)
		if err != nil {
			g.o.Log.Warn("reading symbols", "build", id.String(), "error", err)
			continue
		}
		m.BuildID = id
		g.maps.put(m)
		return m
	}
	return none
}

// symbols has the functions of the builds without a map that were asked for last.
type symbols struct {
	mu   sync.Mutex
	maps []*prof.Map // the last one at the end
}

// Bounds of symbols.
const (
	maxSymbolMaps  = 16
	maxSymbolFuncs = 1 << 17 // of all
)

func (s *symbols) get(id prof.BuildID) *prof.Map {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.maps {
		if m.BuildID == id {
			return m
		}
	}
	return nil
}

func (s *symbols) put(m *prof.Map) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maps = append(s.maps, m)
	funcs := 0
	for i := len(s.maps) - 1; i >= 0; i-- {
		if funcs += len(s.maps[i].Funcs); funcs > maxSymbolFuncs || len(s.maps)-i > maxSymbolMaps {
			s.maps = slices.Delete(s.maps, 0, i+1)
			return
		}
	}
}

func (g *Gate) readSymbols(r io.ReadCloser) (m *prof.Map, err error) {
	tmp, err := os.CreateTemp(g.o.Temp, "symbols-*")
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	defer func() { err = errors.Join(err, tmp.Close(), os.Remove(tmp.Name())) }()
	_, err = io.Copy(tmp, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	f, err := objfile.Open(tmp.Name())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, _, err = f.IdentifiedMap()
	return m, err
}

// newest returns the build of ids with the latest first upload, and the build of the
// program before it, "" if there is none.
func newest(builds []tally.Build, program string, ids []prof.BuildID) (id, before prof.BuildID) {
	first := make(map[prof.BuildID]int64)
	for i := range builds {
		if b, err := hex.DecodeString(builds[i].Build); err == nil && builds[i].Mapped && builds[i].Program == program {
			first[prof.BuildID(b)] = builds[i].First
		}
	}
	for _, candidate := range ids {
		if _, mapped := first[candidate]; id == "" || mapped && first[candidate] > first[id] {
			id = candidate
		}
	}
	if _, mapped := first[id]; !mapped {
		return id, ""
	}
	for candidate, at := range first {
		if candidate != id && at <= first[id] && (before == "" || at > first[before] || at == first[before] && candidate > before) {
			before = candidate
		}
	}
	return id, before
}

func (g *Gate) module(ctx context.Context, id prof.BuildID) (*prof.Module, error) {
	data, err := g.c.Profile(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := mip.ReadProfile(data)
	if err != nil {
		return nil, err
	}
	return &p.Modules[0], nil
}
