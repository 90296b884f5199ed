package page_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/page"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWriteHTML(t *testing.T) {
	t.Parallel()
	const model, data = `{"title":"</script>"}`, "some \x00 bytes"
	d := &page.Document{
		Title: "a <program>",
		Model: text(model),
		Data:  slices.Values([]page.Blob{{Path: `x/"1".bin`, Write: text(data)}}),
	}
	var b bytes.Buffer
	if err := page.WriteHTML(&b, d); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	if !strings.Contains(html, "<title>a &lt;program&gt;</title>") {
		t.Error("the page lacks its title")
	}
	if got := embedded(t, html, `id="model"`); got != model {
		t.Errorf("model %q", got)
	}
	if got := embedded(t, html, `data-path="x/&quot;1&quot;.bin"`); got != data {
		t.Errorf("data %q", got)
	}
	if m := regexp.MustCompile(`(?:src|href)="?https?:`).FindString(html); m != "" {
		t.Errorf("the page loads something: %s", m)
	}
	broken := errors.New("broken")
	d.Data = slices.Values([]page.Blob{{Path: "y", Write: func(io.Writer) error { return broken }}})
	if err := page.WriteHTML(io.Discard, d); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// embedded returns the data of the element with an attribute.
func embedded(t *testing.T, html, attribute string) string {
	t.Helper()
	_, rest, ok := strings.Cut(html, `<script type="application/octet-stream" `+attribute+">")
	if !ok {
		t.Fatalf("no element with %s", attribute)
	}
	body, _, _ := strings.Cut(rest, "</script>")
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
