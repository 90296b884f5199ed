package docs

import (
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/internal/report/webpage/browsertest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestWindowsGame runs the page about a game for Windows, in Wine: its report names the function that was planted.
func TestWindowsGame(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	for _, tool := range []string{"wine", "wineserver", "x86_64-w64-mingw32-gcc", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; make proof installs it", tool)
		}
	}
	text, err := os.ReadFile("windows-game.md")
	if err != nil {
		t.Fatal(err)
	}
	checkout := t.TempDir()
	if err := os.CopyFS(filepath.Join(checkout, "docs", "windows-game"), os.DirFS("windows-game")); err != nil {
		t.Fatal(err)
	}
	script := "set -eu -o pipefail\nwineboot -i\n"
	for _, m := range blocks.FindAllSubmatch(text, -1) {
		script += string(m[1])
	}
	env := append(os.Environ(), "PATH="+binOf(t)+":"+os.Getenv("PATH"), "CAIRN_CACHE="+shorttest.Cache(t.TempDir()), "CAIRN_DIR=",
		"WINEPREFIX="+filepath.Join(checkout, "wine"), "WINEDEBUG=-all", "DISPLAY=", "WINEDLLOVERRIDES=mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe=")
	t.Cleanup(func() {
		for _, how := range []string{"-k", "-w"} {
			end := exec.Command("wineserver", how)
			end.Env = env
			_ = end.Run() // it may have ended
		}
	})
	cmd := exec.Command("bash", "-x", "-c", script)
	cmd.Dir, cmd.Env = checkout, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if *pictures {
		html, err := os.ReadFile(filepath.Join(checkout, "docs", "windows-game", "report.html"))
		if err != nil {
			t.Fatal(err)
		}
		browsertest.Screenshot(t, string(html), "spikes", "windows-game.png", image.Pt(1100, 560))
	}
}
