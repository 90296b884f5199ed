package sonarqube

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var example = []File{
	{"src/a.c", []Line{{3, true, 2, 1}, {4, false, 0, 0}, {9, false, 2, 0}}},
	{"b<&>\".c", nil},
	{"c\x01\xff.c", []Line{{1, true, 0, 0}}},
}

func TestWrite(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Write(&b, example); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Version int `xml:"version,attr"`
		Files   []struct {
			Path  string `xml:"path,attr"`
			Lines []struct {
				Number   int    `xml:"lineNumber,attr"`
				Covered  bool   `xml:"covered,attr"`
				Branches string `xml:"branchesToCover,attr"`
				Taken    string `xml:"coveredBranches,attr"`
			} `xml:"lineToCover"`
		} `xml:"file"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if doc.Version != 1 || len(doc.Files) != 3 || doc.Files[1].Path != example[1].Path {
		t.Fatalf("%+v", doc)
	}
	l := doc.Files[0].Lines
	if l[0].Number != 3 || !l[0].Covered || l[0].Branches != "2" || l[0].Taken != "1" {
		t.Errorf("%+v", l[0])
	}
	if l[1].Covered || l[1].Branches != "" || l[1].Taken != "" {
		t.Errorf("branches that are not known have numbers: %+v", l[1])
	}
	if l[2].Branches != "2" || l[2].Taken != "0" {
		t.Errorf("%+v", l[2])
	}
	t.Run("schema", func(t *testing.T) {
		xmllint, err := exec.LookPath("xmllint")
		if err != nil {
			t.Skip(err)
		}
		path := filepath.Join(t.TempDir(), "coverage.xml")
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(xmllint, "--noout", "--nonet", "--schema", "testdata/generic-coverage.xsd", path).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// full fails at the first write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteError(t *testing.T) {
	t.Parallel()
	if err := Write(full{}, example); err == nil {
		t.Error("no error")
	}
}
