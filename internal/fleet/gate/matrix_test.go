package gate

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/tally"
)

// probe is a request of the matrix.
type probe struct {
	path    string
	body    []byte
	of      string // the program whose data it reads or writes, "" if it is about none
	publish bool   // it writes what determines the meaning of runs
	status  int    // if it is allowed; 0 for 200
}

// TestMatrix sends each kind of request about the own program and about another one with each kind of token. A route
// without a row fails. Nothing of a program that is not the token's is answered or changed.
func TestMatrix(t *testing.T) {
	t.Parallel()
	lines := map[string]string{
		"none": "", "unknown": "",
		"device": "write", "build": "write,publish", "person": "read", "everything": "write,publish,read,backup", "backup": "backup",
		"app device": "write", "app build": "write,publish", "app person": "read", "app everything": "write,publish,read",
	}
	token := func(name string) string { return strings.ReplaceAll(name, " ", "-") + "-0123456789abcdef" }
	var text strings.Builder
	for name, roles := range lines {
		if program := strings.Fields(name)[0]; roles != "" && program == "app" {
			fmt.Fprintln(&text, roles, token(name), program)
		} else if roles != "" {
			fmt.Fprintln(&text, roles, token(name))
		}
	}
	tokens, err := ParseTokens(strings.NewReader(text.String()), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	var g *Gate
	url, _ := serve(t, func(o *Options, _ *collector.Options) {
		debug, err := depot.OpenDebug(t.TempDir(), 0)
		if err != nil {
			t.Fatal(err)
		}
		o.Tokens, o.Debug, o.MaxDebug, o.Temp = tokens, debug, 1<<24, t.TempDir()
		g = New(nil, *o) // for its routes
	})
	send := func(name, method, path string, body []byte) (int, string) {
		var headers []string
		if name != "none" {
			headers = []string{"Authorization", "Bearer " + token(name)}
		}
		return ask(t, method, url+path, body, headers...)
	}
	own, secret := fleettest.NewProgram("app", "\x01\x02", 10), fleettest.NewProgram("secret", "\xab\xcd", 30)
	for i := range secret.Funcs {
		secret.Funcs[i].Name = fmt.Sprint("hidden", i)
	}
	ownLog, secretLog := spikeLog(1, "app", own.BuildID, 5e6), spikeLog(2, "secret", secret.BuildID, 5e6)
	start := bundled(t, own.MapFile(t), own.Run(t, 1), ownLog, secret.MapFile(t), secret.Run(t, 1), secretLog)
	if status, text := send("everything", http.MethodPost, "/v1/files", start); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	key := func(build string) string {
		_, text := send("everything", http.MethodGet, "/v1/logs/"+build, nil)
		return decode[struct{ Logs []tally.Log }](t, text).Logs[0].Key.String()
	}
	ownProgram, secretProgram := program(t, own.BuildID.String()), program(t, secret.BuildID.String())
	for _, p := range [][]byte{ownProgram, secretProgram} {
		if status, text := send("everything", http.MethodPost, "/v1/debug", p); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	about := func(format string) []probe {
		return []probe{{path: fmt.Sprintf(format, "0102"), of: "app"}, {path: fmt.Sprintf(format, "abcd"), of: "secret"}}
	}
	rows := map[string][]probe{
		"POST /v1/files": {
			{body: own.Run(t, 1), of: "app"},
			{body: secret.Run(t, 1), of: "secret"},
			{body: secret.Run(t, 99), of: "secret"},
			{body: own.MapFile(t), of: "app", publish: true},
			{body: secret.MapFile(t), of: "secret", publish: true},
			{body: fleettest.NewProgram("app", "\xab\xcd", 30).MapFile(t), of: "secret", publish: true},
			{body: ownLog, of: "app"},
			{body: secretLog, of: "secret"},
			{body: spikeLog(9, "app", secret.BuildID, 5e6), of: "secret"},
			{body: bundled(t, own.Run(t, 1), secret.Run(t, 98)), of: "secret"},
			{body: []byte("text"), status: http.StatusUnsupportedMediaType},
		},
		"POST /v1/debug":              {{body: ownProgram, of: "app"}, {body: secretProgram, of: "secret"}},
		"GET /v1/policy":              {{}},
		"GET /v1/builds":              {{}, {path: "/v1/builds?after=" + next(tally.Cursor{})}},
		"GET /v1/backup":              {{status: http.StatusNotFound}}, // this test's collector has none
		"GET /v1/maps/{build}":        about("/v1/maps/%s"),
		"GET /v1/logs/{build}":        about("/v1/logs/%s"),
		"GET /v1/logs/{build}/{key}":  {{path: "/v1/logs/0102/" + key("0102"), of: "app"}, {path: "/v1/logs/abcd/" + key("abcd"), of: "secret"}},
		"GET /v1/view/{profile}":      {{path: "/v1/view/app", of: "app"}, {path: "/v1/view/secret", of: "secret"}, {path: "/v1/view/secret@abcd", of: "secret"}},
		"GET /view/{profile}":         {{path: "/view/app@0102", of: "app"}, {path: "/view/secret", of: "secret"}},
		"GET /{$}":                    {{path: "/"}},
		"GET /{profile}":              {{path: "/app", of: "app"}, {path: "/secret", of: "secret"}, {path: "/secret@ab", of: "secret"}},
		"GET /buildid/{build}/{kind}": append(about("/buildid/%s/executable"), about("/buildid/%s/executable")...),
		"GET /metrics":                {{}}, "GET /healthz": {{}}, "GET /readyz": {{}},
	}
	for _, r := range g.routes() {
		probes := rows[r.pattern]
		if len(probes) == 0 {
			t.Errorf("%s: no row of the matrix", r.pattern)
		}
		method, path, _ := strings.Cut(r.pattern, " ")
		for i, p := range probes {
			if p.path == "" {
				p.path = path
			}
			for name := range lines {
				grant := tokens.grant(token(name))
				want := p.wanted(r.role, &grant, method)
				status, text := send(name, method, p.path, p.body)
				if status == http.StatusOK && want == http.StatusForbidden && strings.Contains(text, tally.ErrForeign.Error()) {
					status = want // only that file of several
				}
				if status != want {
					t.Errorf("%s, request %d with the token of %s: %d, want %d: %.200s", r.pattern, i, name, status, want, text)
				}
				if method == http.MethodGet && !(grant.Allows("secret") && grant.Role&Read != 0) && (strings.Contains(text, "hidden") || strings.Contains(text, "abcd\"")) {
					t.Errorf("%s, request %d with the token of %s tells of the other program: %.200s", r.pattern, i, name, text)
				}
			}
		}
	}
	// Those who may write everything have sent two more runs and a log.
	send("everything", http.MethodPost, "/v1/files", bundled(t, secret.Run(t, 98), secret.Run(t, 99)))
	_, got := send("everything", http.MethodGet, "/secret", nil)
	raws := map[string][]byte{"1": secret.Run(t, 1), "98": secret.Run(t, 98), "99": secret.Run(t, 99)}
	if got != string(fleettest.Merged(t, []*fleettest.Program{secret}, raws)) {
		t.Error("the profile of the other program is not that of its runs")
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	ways := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			ways += strings.Count(string(data), "mux.Handle")
		}
	}
	if ways != 1 {
		t.Errorf("requests are handled at %d places besides the table of routes", ways-1)
	}
}

// wanted returns the status that a request gets.
func (p *probe) wanted(role Role, grant *Grant, method string) int {
	ok := p.status
	if ok == 0 {
		ok = http.StatusOK
	}
	switch {
	case role == 0:
		return ok
	case grant.Role == 0:
		return http.StatusUnauthorized
	case grant.Role&role == 0:
		return http.StatusForbidden
	case p.of != "" && !grant.Allows(p.of) && method == http.MethodGet:
		return http.StatusNotFound
	case p.of != "" && !grant.Allows(p.of), p.publish && grant.Role&Publish == 0:
		return http.StatusForbidden
	}
	return ok
}

// program returns a program with a build id.
func program(t *testing.T, id string) []byte {
	t.Helper()
	dir := t.TempDir()
	source, out := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", "-g", "-Wl,--build-id=0x"+id, "-o", out, source).CombinedOutput(); err != nil {
		t.Skipf("needs gcc: %v %s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
