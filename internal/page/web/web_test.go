package web_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/page/web"
)

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
