package sourcename

import "testing"

func TestJoin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		top, dir, name, want string
		abs                  bool // what name is
	}{
		{"/src", "lib", "a.c", "/src/lib/a.c", false},
		{"/src", "/usr/include", "a.h", "/usr/include/a.h", false},
		{"/src", "lib", "/a/../b.c", "/b.c", true},
		{"/src", "", `odd\name.c`, `/src/odd\name.c`, false},
		{`C:\src`, "lib", "a.c", "C:/src/lib/a.c", false},
		{`C:\src`, `..\include`, "a.h", "C:/include/a.h", false},
		{"C:/src", `D:\sdk\include`, "a.h", "D:/sdk/include/a.h", false},
		{`C:\src`, "", `c:\other\a.c`, "c:/other/a.c", true},
		{"/src", "", "1:/a.c", "/src/1:/a.c", false},
		{"", "", "a.c", "a.c", false},
	} {
		if got := Join(test.top, test.dir, test.name); got != test.want {
			t.Errorf("Join(%q, %q, %q) = %q, want %q", test.top, test.dir, test.name, got, test.want)
		}
		if got := IsAbs(test.name); got != test.abs {
			t.Errorf("IsAbs(%q) = %t", test.name, got)
		}
	}
}
