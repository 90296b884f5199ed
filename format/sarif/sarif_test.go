package sarif

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var tool1 = Tool{Name: "cairn", Version: "v1.2.3", URL: "https://example.org/", Rules: []Rule{
	{"not-run", "Code did not run", "It did not run in any of the merged runs."}, {"spike", "A call took too long", ""},
}}

var results = []Result{
	{Rule: 0, Level: Note, Text: "f did not run", Places: []Place{{"src/a b%.c", 3, 9, "f(std::vector<int>&)"}}, Fingerprint: "f"},
	{Rule: 0, Level: Warning, Text: "no place"},
	{Rule: 0, Level: Note, Text: "no line", Places: []Place{{File: "/abs/\xff:c.c"}}},
	{Rule: 1, Level: Error, Text: "took 5 ms", Places: []Place{{"x:y.c", 7, 0, "g"}}, Stacks: []Stack{{"the worst", []Place{{"c.c", 7, 7, "g"}, {Function: "main"}}}, {}}},
}

func write(t *testing.T, results []Result) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, &tool1)
	for i := range results {
		if err := w.Write(&results[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSchema validates logs by the schema of the standard.
func TestSchema(t *testing.T) {
	t.Parallel()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	data, err := os.ReadFile(filepath.Join("testdata", "sarif-2.1.0-rtm.5.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(log []byte) error {
		t.Helper()
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		return schema.Validate(doc)
	}
	for _, n := range []int{0, len(results)} {
		if err := validate(write(t, results[:n])); err != nil {
			t.Errorf("%d results: %v", n, err)
		}
	}
	if validate(bytes.Replace(write(t, results), []byte(`"startLine":3`), []byte(`"startLine":0`), 1)) == nil {
		t.Error("the schema accepts line 0")
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	var log struct {
		Runs []struct {
			Results []struct {
				Locations []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	if err := json.Unmarshal(write(t, results), &log); err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range log.Runs[0].Results {
		for _, l := range r.Locations {
			uris = append(uris, l.PhysicalLocation.ArtifactLocation.URI)
		}
	}
	if got, want := strings.Join(uris, " "), "src/a%20b%25.c file:///abs/%EF%BF%BD:c.c ./x:y.c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
