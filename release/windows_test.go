package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWindows packs a file that stands for the program for Windows, and looks at the archive and at the manifest.
func TestWindows(t *testing.T) {
	t.Parallel()
	amd64 := target{"windows", "amd64"}
	b := &build{
		version: version, out: t.TempDir(), date: time.Unix(1700000000, 0).UTC(), targets: []target{{"linux", "amd64"}, amd64},
		shared: []file{{"man/man1/cairn.1.gz", "", 0o644, []byte("page")}},
	}
	program := filepath.Join(t.TempDir(), amd64.program())
	if err := os.WriteFile(program, []byte("program"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := b.archive(amd64, program); err != nil {
		t.Fatal(err)
	}
	const top = "cairn-1.2.3-rc.1-windows-amd64"
	path := filepath.Join(b.out, top+".zip")
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for name, want := range map[string]string{top + "/cairn.exe": "program", top + "/man/man1/cairn.1.gz": "page"} {
		f, err := archive.Open(name)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := io.ReadAll(f)
		if string(got) != want || err != nil {
			t.Errorf("%s has %q, want %q: %v", name, got, want, err)
		}
		f.Close()
	}
	if err := b.scoop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.out, "cairn.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Version, Bin string
		Architecture map[string]struct {
			URL, Hash string
			Dir       string `json:"extract_dir"`
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := manifest.Architecture["64bit"]
	if manifest.Version != b.number() || manifest.Bin != "cairn.exe" || len(manifest.Architecture) != 1 || got.Dir != top ||
		got.URL != homePage+"/releases/download/"+version+"/"+top+".zip" || got.Hash != fmt.Sprintf("%x", sha256.Sum256(data)) {
		t.Errorf("the manifest is %s", text)
	}
}
