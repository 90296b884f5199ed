package gate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// TestPages checks that clients get all pages of the list of builds and of the spikes of a report, and that the pages for
// people have links to those that follow.
func TestPages(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, func(o *Options, co *collector.Options) {
		o.MaxFile, o.MaxBody, o.MaxAll, o.Memory, co.MaxWaiting, co.Logs = 1<<22, 1<<22, 1<<22, 1<<26, 1<<22, 1<<22
	})
	const builds, functions = pageBuilds + 7, pageFunctions + 7
	var files [][]byte
	var want []string
	for i := range builds - 1 {
		id := prof.BuildID(fmt.Sprintf("build %06d", i))
		want = append(want, id.String())
		files = append(files, fleettest.NewProgram("", id, 1).Run(t, 1))
	}
	app := prof.BuildID("the app")
	want = append(want, app.String())
	files = append(files, fleettest.SpikeLog(1, "app", app, 0, functions))
	if status, text := ask(t, http.MethodPost, url+"/v1/files", bundled(t, files...)); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	c := client.New("")
	list, ok, err := c.Builds(t.Context(), url)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var got []string
	for i := range list {
		got = append(got, list[i].Build)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d builds, want %d in their order", len(got), len(want))
	}
	report, err := c.Report(t.Context(), url, &list[len(list)-1])
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range report.Spikes {
		names[s.Function] = true
	}
	if len(report.Spikes) != functions || len(names) != functions {
		t.Errorf("%d functions with spikes, %d names, want %d", len(report.Spikes), len(names), functions)
	}
	for path, link := range map[string]string{"/": `href="/?after=`, "/view/app": `href="/view/app@` + app.String() + `?after=`} {
		if _, text := ask(t, http.MethodGet, url+path, nil); !strings.Contains(text, link) {
			t.Errorf("%s has no link to the next page", path)
		}
	}
	for _, after := range []string{"x", "bm8"} {
		if status, _ := ask(t, http.MethodGet, url+"/v1/builds?after="+after, nil); status != http.StatusBadRequest {
			t.Errorf("after=%s: %d", after, status)
		}
	}
}

// TestTokenLimits has a token that sends more than it may: it is told why, what needs nothing more is accepted, and
// another token is not affected.
func TestTokenLimits(t *testing.T) {
	t.Parallel()
	tokens, err := ParseTokens(strings.NewReader("write liar-token-0123456789\nwrite,publish honest-token-0123456789\n"), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	limits := tally.Use{Unknown: 3, Places: 20, Bytes: 300 << 10}
	url, _ := serve(t, func(o *Options, co *collector.Options) { o.Tokens, o.Limits, co.Sender = tokens, limits, limits })
	send := func(token string, body []byte) (int, string) {
		return ask(t, http.MethodPost, url+"/v1/files", body, "Authorization", "Bearer "+token+"-token-0123456789")
	}
	for i, test := range []struct {
		body []byte
		want string // in the reason, "" if it is accepted
	}{
		{fleettest.NewProgram("", "\x01", 1).Run(t, 1), ""},
		{fleettest.SpikeLog(1, "app", "\x02", 0, 15), ""},
		{fleettest.SpikeLog(2, "app", "\x02", 1<<20, 6), "21 places of spikes, at most 20"},
		{fleettest.SpikeLog(2, "app", "\x02", 1<<20, 5), ""},
		{fleettest.SpikeLog(4, "app", "\x02", 0, 0), "bytes of logs, maps and raw files without a map, at most 307200"},
		{bundled(t, fleettest.NewProgram("", "\x03", 1).Run(t, 1), fleettest.NewProgram("", "\x04", 1).Run(t, 1)), "4 builds without a map, at most 3"},
		{fleettest.NewProgram("", "\x03", 1).Run(t, 1), ""},
		{fleettest.NewProgram("", "\x04", 1).Run(t, 1), "4 builds without a map, at most 3"},
	} {
		status, text := send("liar", test.body)
		if test.want == "" && status != http.StatusOK || test.want != "" && (status != http.StatusTooManyRequests || !strings.Contains(text, test.want)) {
			t.Errorf("upload %d: %d %s", i, status, text)
		}
	}
	p := fleettest.NewProgram("app", "\x03", 1)
	if status, text := send("honest", bundled(t, p.MapFile(t), p.Run(t, 1), p.Run(t, 2))); status != http.StatusOK {
		t.Errorf("another token: %d %s", status, text)
	}
	if status, text := send("liar", p.Run(t, 3)); status != http.StatusOK {
		t.Errorf("a run of a build with a map: %d %s", status, text)
	}
	_, text := ask(t, http.MethodGet, url+"/metrics", nil)
	for _, line := range []string{
		`cairn_limited_total{limit="bytes"} 1`, `cairn_limited_total{limit="places"} 1`, `cairn_limited_total{limit="unknown_builds"} 2`,
		`cairn_token_limit{limit="places"} 20`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}
