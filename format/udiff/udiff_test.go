package udiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const example = `commit 1234
--- is not a header here
diff --git a/old.c b/new.c
index 1..2 100644
--- a/old.c
+++ b/new.c
@@ -3,2 +3,3 @@ int main(void)
 an unchanged line
-a removed line
+an added line
+another
@@ -20 +21,0 @@
-gone
@@ -30,0 +31 @@
+one
\ No newline at end of file
diff --git a/gone.c b/gone.c
--- a/gone.c
+++ /dev/null
@@ -1 +0,0 @@
---- looks like a header
diff --git "a/\303\244 \"q\".c" "b/\303\244 \"q\".c"
--- "a/\303\244 \"q\".c"
+++ "b/\303\244 \"q\".c"
@@ -1 +1 @@
-a
++++ b/not a name
`

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := Read(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{"new.c", []Range{{4, 5}, {31, 31}}}, {"ä \"q\".c", []Range{{1, 1}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWrong(t *testing.T) {
	t.Parallel()
	head := "--- a\n+++ b\n"
	for _, c := range []struct{ text, want string }{
		{head + "@@ -1,2 +1,2 @@\n a\n", "line 4: the diff ends within a hunk"},
		{head + "@@ -1 +99999999999 @@\n", `line 3: hunk header "@@ -1 +99999999999 @@": "99999999999" is not a line number`},
		{head + "@@ -1 1 @@\n", "line 3: hunk header"},
		{head + "@@ -1 +1 @@\nx\n", `line 4: "x" does not belong to the hunk`},
		{"--- a\n+++ \"b\n", "line 2: file name"},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestDiff compares two files by GNU diff and by git, with and without context.
func TestDiff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b": "1\nnew\n3\n4\n5\n6\n8\n9\nmore\nend"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := []Range{{2, 2}, {9, 10}}
	for _, args := range [][]string{{"diff", "-u", "a", "b"}, {"diff", "-U0", "a", "b"}, {"git", "diff", "--no-index", "-U0", "a", "b"}, {"git", "diff", "--no-index", "a", "b"}} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("%s is not installed", args[0])
			continue
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		out, _ := cmd.Output() // 1: they differ
		got, err := Read(strings.NewReader(string(out)))
		if err != nil || len(got) != 1 || got[0].Name != "b" || !reflect.DeepEqual(got[0].Lines, want) {
			t.Errorf("%v: %v, %v; want %v", args, got, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(example)
	f.Add("--- a\n+++ b\t2026-01-01\n@@ -0,0 +1,2 @@\n+a\n+b\n")
	f.Fuzz(func(t *testing.T, text string) {
		files, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, file := range files {
			for i, r := range file.Lines {
				if r.From > r.To || i > 0 && file.Lines[i-1] == r {
					t.Errorf("ranges %v", file.Lines)
				}
			}
		}
	})
}
