package gate

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/tally"
)

const (
	secretToken = "secret-0123456789"
	appDevice   = "app-device-0123456789"
	appBuild    = "app-build-0123456789"
	deviceToken = "device-0123456789"
	allToken    = "all-0123456789abcdef"
)

// guarded serves a collector with tokens of two programs, and returns its audit log.
func guarded(t *testing.T) (url string, audit *bytes.Buffer) {
	t.Helper()
	tokens, err := ParseTokens(strings.NewReader(strings.Join([]string{
		"write,publish,read " + secretToken + " secret",
		"write " + appDevice + " app",
		"write,publish,read " + appBuild + " app",
		"write " + deviceToken,
		"write,publish,read " + allToken,
	}, "\n")), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	audit = new(bytes.Buffer)
	url, _ = serve(t, func(o *Options, _ *collector.Options) {
		o.Tokens, o.Audit = tokens, slog.New(slog.NewTextHandler(audit, nil))
	})
	return url, audit
}

// builds returns what a token sees.
func builds(t *testing.T, url, token string) []tally.Build {
	t.Helper()
	status, text := ask(t, http.MethodGet, url+"/v1/builds", nil, "Authorization", "Bearer "+token)
	if status != http.StatusOK {
		t.Fatalf("builds: %d %s", status, text)
	}
	return decode[struct{ Builds []tally.Build }](t, text).Builds
}

// TestOwners attacks the build of a program with the tokens of another one: by each way to send each kind of file, before
// and after the owner's map is there. Nothing of it is counted, shown or moved, and the audit log has each try.
func TestOwners(t *testing.T) {
	t.Parallel()
	secret, own := fleettest.NewProgram("secret", "\xab\xcd", 30), fleettest.NewProgram("app", "\x01\x02", 10)
	disguised := fleettest.NewProgram("app", "\xab\xcd", 30)
	attacks := map[string][]byte{
		"map":             secret.MapFile(t),
		"disguised map":   disguised.MapFile(t),
		"raw file":        secret.Run(t, 77),
		"log":             spikeLog(3, "secret", secret.BuildID, 5e6),
		"disguised log":   spikeLog(4, "app", secret.BuildID, 5e6),
		"among own files": bundled(t, own.MapFile(t), own.Run(t, 1), disguised.MapFile(t), secret.Run(t, 78)),
	}
	for _, first := range []string{"map", "raw file"} {
		for what, body := range attacks {
			for _, token := range []string{appDevice, appBuild} {
				name := fmt.Sprintf("%s sent by %s after a %s of the owner", what, token, first)
				url, audit := guarded(t)
				send := func(token string, body []byte) (int, string) {
					return ask(t, http.MethodPost, url+"/v1/files", body, "Authorization", "Bearer "+token)
				}
				start := secret.MapFile(t)
				if first == "raw file" {
					start = secret.Run(t, 1)
				}
				if status, text := send(secretToken, start); status != http.StatusOK {
					t.Fatalf("%s: %d %s", name, status, text)
				}
				builds(t, url, secretToken) // it is merged
				status, text := send(token, body)
				if status != http.StatusForbidden && !strings.Contains(text, "the build belongs to another program") {
					t.Errorf("%s: %d %s", name, status, text)
				}
				if !strings.Contains(audit.String(), "msg=refused") {
					t.Errorf("%s: the audit log is %s", name, audit)
				}
				send(token, body) // with what it may have cached
				send(secretToken, bundled(t, secret.MapFile(t), secret.Run(t, 1), secret.Run(t, 2)))
				checkUntouched(t, name, url)
			}
		}
	}
}

// TestOwnersRace attacks a build while its owner's first upload may not be merged yet.
func TestOwnersRace(t *testing.T) {
	t.Parallel()
	secret := fleettest.NewProgram("secret", "\xab\xcd", 30)
	for range 20 {
		url, _ := guarded(t)
		for _, upload := range []struct {
			token string
			body  []byte
		}{
			{secretToken, secret.MapFile(t)},
			{appBuild, fleettest.NewProgram("app", "\xab\xcd", 30).MapFile(t)},
			{appDevice, spikeLog(4, "app", secret.BuildID, 5e6)},
			{secretToken, bundled(t, secret.Run(t, 1), secret.Run(t, 2))},
		} {
			ask(t, http.MethodPost, url+"/v1/files", upload.body, "Authorization", "Bearer "+upload.token)
		}
		checkUntouched(t, "at once", url)
	}
}

// checkUntouched checks that the build of secret has two runs, and that only its owner sees it.
func checkUntouched(t *testing.T, name, url string) {
	t.Helper()
	list := builds(t, url, secretToken)
	if len(list) != 1 || list[0].Program != "secret" || !list[0].Mapped || list[0].Runs != 2 || list[0].Logs != 0 {
		t.Errorf("%s: the owner sees %+v", name, list)
	}
	for _, b := range builds(t, url, appBuild) {
		if b.Build == "abcd" {
			t.Errorf("%s: another program sees %+v", name, b)
		}
	}
	for _, path := range []string{"/app@abcd", "/secret", "/secret@abcd", "/v1/maps/abcd", "/v1/logs/abcd", "/v1/view/app@abcd", "/view/secret"} {
		if status, text := ask(t, http.MethodGet, url+path, nil, "Authorization", "Bearer "+appBuild); status != http.StatusNotFound {
			t.Errorf("%s: %s: %d %s", name, path, status, text)
		}
	}
	if status, text := ask(t, http.MethodGet, url+"/secret@abcd", nil, "Authorization", "Bearer "+secretToken); status != http.StatusOK {
		t.Errorf("%s: the owner's profile: %d %s", name, status, text)
	}
}

// TestFirstSender checks to which program a build belongs whose first files came from senders without a program.
func TestFirstSender(t *testing.T) {
	t.Parallel()
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	for name, test := range map[string]struct {
		uploads []string // tokens, and what they send
		want    string   // the owner
		runs    uint64
	}{
		"map by one that may write all":           {[]string{allToken, "map", secretToken, "map", appDevice, "run"}, "app", 1},
		"runs of devices, then the map":           {[]string{deviceToken, "run", appBuild, "map", deviceToken, "run"}, "app", 2},
		"runs of devices, then an app's device":   {[]string{deviceToken, "run", appDevice, "run", allToken, "map"}, "app", 2},
		"runs of devices of another program":      {[]string{appDevice, "run", secretToken, "disguised", allToken, "map"}, "app", 1},
		"an app's device, then a renamed program": {[]string{appDevice, "run", allToken, "disguised"}, "app", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := guarded(t)
			for i := 0; i < len(test.uploads); i += 2 {
				body := p.MapFile(t)
				switch test.uploads[i+1] {
				case "run":
					body = p.Run(t, uint64(i)+1)
				case "disguised":
					body = fleettest.NewProgram("secret", p.BuildID, 30).MapFile(t)
				}
				ask(t, http.MethodPost, url+"/v1/files", body, "Authorization", "Bearer "+test.uploads[i])
			}
			list := builds(t, url, allToken)
			if len(list) != 1 || list[0].Program != test.want || list[0].Runs != test.runs || len(builds(t, url, appBuild)) != 1 || len(builds(t, url, secretToken)) != 0 {
				t.Errorf("%+v", list)
			}
		})
	}
}
