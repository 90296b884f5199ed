package objfile

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestPointers checks that addresses of functions are found where linkers store them, however
// they are relocated, and that addresses that only code contains are not.
func TestPointers(t *testing.T) {
	t.Parallel()
	const source = `
#define F __attribute__((noinline)) static int
F table(int x) { return x + 1; }
F packed(int x) { return x + 2; }
F direct(int x) { return x + 3; }
int visible(int x) { return x + 4; }
struct __attribute__((packed)) odd { char c; int (*f)(int); };
int (*const volatile tables[])(int) = {table, 0};
volatile struct odd odds[] = {{1, packed}};
int main(void) { return direct(tables[0](1) + odds[0].f(2)) + visible(3); }
`
	for name, flags := range map[string][]string{
		"fixed":           {"-no-pie", "-fno-pie"},
		"pie":             {"-pie", "-fPIE"},
		"shared":          {"-shared", "-fPIC"},
		"exported":        {"-pie", "-fPIE", "-rdynamic"},
		"packed":          {"-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"},
		"static":          {"-static"},
		"linked by gold":  {"-pie", "-fPIE", "-fuse-ld=gold"},
		"static, movable": {"-static-pie", "-fPIE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "main.c", source)
			run(t, dir, "gcc", append([]string{"-O2", "-o", "app", "main.c"}, flags...)...)
			bin := filepath.Join(dir, "app")
			list, err := open(t, bin).Pointers()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.IsSorted(list) {
				t.Error("not ascending")
			}
			for fn, want := range map[string]bool{
				"table": true, "packed": true, "direct": false,
				"visible": name == "shared" || name == "exported",
			} {
				if slices.Contains(list, symbolOf(t, bin, fn).Addr) != want {
					t.Errorf("%s is among them: %v", fn, !want)
				}
			}
			if entry := open(t, bin).Entry(); entry != 0 && !slices.Contains(list, entry) {
				t.Error("the entry is not among them")
			}
		})
	}
}
