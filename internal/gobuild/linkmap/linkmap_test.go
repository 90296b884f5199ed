package linkmap

import "testing"

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"main.F": "main.F", "main.Map[go.shape.int,go.shape.[]int]": "main.Map", "main.(*L[...]).Push": "main.(*L).Push",
	} {
		if got := withoutTypes(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for path, want := range map[string]string{
		"main": "main", "gopkg.in/yaml.v3": "gopkg.in/yaml%2ev3", "example.com/a b": "example.com/a%20b", "a.b": "a%2eb",
	} {
		if got := symbolPath(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
