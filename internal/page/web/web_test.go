package web_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/internal/page/web"
)

var update = flag.Bool("update", false, "write script.zst")

// TestScript checks that script.zst has the scripts of the directory.
func TestScript(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	for _, name := range web.Scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
		text.WriteByte('\n')
	}
	if web.Script() == text.String() {
		return
	}
	if !*update {
		t.Fatal("script.zst does not have the scripts as they are: go test ./internal/page/web -update")
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	packed := w.EncodeAll(text.Bytes(), nil)
	if err := os.WriteFile("script.zst", packed, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFiles checks that the page has each script and style of the directory, app.js first.
func TestFiles(t *testing.T) {
	t.Parallel()
	if web.Scripts[0] != "app.js" || web.Body() == "" || web.Script() == "" || web.Style() == "" {
		t.Error("the page lacks parts")
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if d == nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(name, ".js") && !slices.Contains(web.Scripts, name) || strings.HasSuffix(name, ".css") && !slices.Contains(web.Styles, name) {
			t.Errorf("%s is not in the page", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(web.Script(), "</script") || strings.Contains(web.Style(), "</style") {
		t.Error("a file ends its element")
	}
}
