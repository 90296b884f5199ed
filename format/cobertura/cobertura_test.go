package cobertura

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var example = Report{
	Version: "cairn", Timestamp: 1700000000000, Sources: []string{"/home/me/<src> & more"},
	Files: []File{
		{"a.c", []Function{{"operator<(a, b)", 3, 2}, {"never", 9, 0}}, []Line{{3, 2, []Branch{{1, 2}, {2, 2}}}, {4, 0, nil}, {9, 0, []Branch{{0, 1}}}}},
		{"b.c", nil, nil},
		{"src/c\x01\xff.c", nil, []Line{{1, 18446744073709551615, nil}}},
	},
}

func TestWrite(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Write(&b, &example); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Rate     string `xml:"line-rate,attr"`
		Covered  int    `xml:"lines-covered,attr"`
		Valid    int    `xml:"lines-valid,attr"`
		Source   string `xml:"sources>source"`
		Packages []struct {
			Name    string `xml:"name,attr"`
			Rate    string `xml:"line-rate,attr"`
			Classes []struct {
				File    string `xml:"filename,attr"`
				Rate    string `xml:"line-rate,attr"`
				Methods []struct {
					Name string `xml:"name,attr"`
				} `xml:"methods>method"`
				Lines []struct {
					Number int    `xml:"number,attr"`
					Hits   uint64 `xml:"hits,attr"`
				} `xml:"lines>line"`
			} `xml:"classes>class"`
		} `xml:"packages>package"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if doc.Rate != "0.5" || doc.Covered != 2 || doc.Valid != 4 || doc.Source != example.Sources[0] || len(doc.Packages) != 2 {
		t.Errorf("%+v", doc)
	}
	p := doc.Packages[0]
	if p.Name != "." || p.Rate[:5] != "0.333" || len(p.Classes) != 2 || p.Classes[1].Rate != "1" || p.Classes[0].Methods[0].Name != "operator<(a, b)" {
		t.Errorf("%+v", p)
	}
	if l := doc.Packages[1].Classes[0].Lines[0]; l.Number != 1 || l.Hits != 1<<64-1 {
		t.Errorf("%+v", l)
	}
}

// TestBranches checks the numbers of branches, which are never those of branches that are not known.
func TestBranches(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Write(&b, &example); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`branches-covered="3" branches-valid="5"`,
		`<line number="3" hits="2" branch="true" condition-coverage="75% (3/4)"><conditions>` +
			`<condition number="0" type="jump" coverage="50%"/><condition number="1" type="jump" coverage="100%"/></conditions></line>`,
		`<line number="4" hits="0" branch="false"/>`,
		`<line number="9" hits="0" branch="true" condition-coverage="0% (0/1)">`,
		`filename="b.c" line-rate="1" branch-rate="1"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// TestValid validates a report with xmllint and the DTD.
func TestValid(t *testing.T) {
	t.Parallel()
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("needs xmllint")
	}
	var b bytes.Buffer
	if err := Write(&b, &example); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "coverage.xml")
	check := func(data []byte) ([]byte, error) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return exec.Command(xmllint, "--noout", "--nonet", "--dtdvalid", filepath.Join("testdata", "coverage-04.dtd"), path).CombinedOutput()
	}
	if out, err := check(b.Bytes()); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, b.String())
	}
	if _, err := check([]byte(strings.Replace(b.String(), ` hits="2"`, "", 1))); err == nil {
		t.Error("xmllint accepts a report without hits")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestFailing(t *testing.T) {
	t.Parallel()
	if Write(failing{}, &example) == nil {
		t.Error("no error")
	}
}
