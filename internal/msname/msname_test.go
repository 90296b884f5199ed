package msname

import (
	"slices"
	"strings"
	"testing"
)

// TestDemangle has one name for each thing that names can say. The names are those that clang makes; TestMSNames of
// proof/oracle compares thousands with another reader.
func TestDemangle(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]string{
		"?f@@YAXXZ":                          "f()",
		"?f@n@@YAHPEBD@Z":                    "n::f(char const*)",
		"?g@@YAXPEBD0_N1@Z":                  "g(char const*, char const*, bool, bool)",
		"?v@@YAHHZZ":                         "v(int, ...)",
		"?e@?A0x12345678@@YAXXZ":             "(anonymous namespace)::e()",
		"??0C@n@@QEAA@H@Z":                   "n::C::C(int)",
		"??1C@n@@UEAA@XZ":                    "n::C::~C()",
		"??_GC@n@@UEAAPEAXI@Z":               "n::C::{scalar deleting destructor}(unsigned int)",
		"?m@C@@QEBAHXZ":                      "C::m() const",
		"?m@C@@QEGCAXXZ":                     "C::m() volatile &",
		"?m@C@@WBA@EAAXXZ":                   "non-virtual thunk to C::m()",
		"?m@C@@$4PPPPPPPM@A@EAAXXZ":          "virtual thunk to C::m()",
		"??_9C@@$BBI@AA":                     "C::{vcall 24}",
		"??BC@@QEBAHXZ":                      "C::operator int() const",
		"??$?BH@C@@QEAAHXZ":                  "C::operator int<int>()",
		"??6@YAAEAUS@@AEAU0@H@Z":             "operator<<(S&, int)",
		"??2@YAPEAX_K@Z":                     "operator new(unsigned long long)",
		"??_V@YAXPEAX@Z":                     "operator delete[](void*)",
		"??__K_deg@@YAOO@Z":                  "operator\"\"_deg(long double)",
		"??__MS@@QEBA_NAEBU0@@Z":             "S::operator<=>(S const&) const",
		"??$t@H$02$$V@@YAXXZ":                "t<int, 3>()",
		"??$t@$$A6AXH@Z@@YAXXZ":              "t<void (int)>()",
		"??$t@$1?f@@YAXXZ@@YAXXZ":            "t<&f()>()",
		"?a@@YAXPEAY02H@Z":                   "a(int (*)[3])",
		"?p@@YAXP6AHH@Z0@Z":                  "p(int (*)(int), int (*)(int))",
		"?r@@YAP6AHH@ZXZ":                    "r()",
		"?p@@YAXP8C@@EAAHXZPEQ1@H@Z":         "p(int (C::*)(), int C::*)",
		"?k@@YAXW4E@@TU@@$$QEAH@Z":           "k(E, U, int&&)",
		"??R<lambda_0>@?0??f@@YAXXZ@QEBA@XZ": "f()::<lambda_0>::operator()() const",
		"?filt$0@0@f@n@@":                    "n::f::filt$0",
		"?fin$12@0@main@@":                   "main::fin$12",
		"??__Ex@@YAXXZ":                      "dynamic initializer for x",
		"??__E?x@C@@2UD@@A@@YAXXZ":           "dynamic initializer for C::x",
		"??__Fx@?1??f@@YAXXZ@YAXXZ":          "dynamic atexit destructor for f()::x",
		"?x@?1??main@@9@4HA":                 "main::x",
		"?f@@YAXXZ.cold":                     "f() [clone .cold]",
	} {
		if got, ok := Demangle(symbol, false); got != want || !ok {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
	for symbol, want := range map[string]string{
		"??$t@H@n@@YAXPEBD@Z": "n::t", "??0?$C@H@@QEAA@XZ": "C::C", "?m@?$C@V?$D@H@@@@QEAAXV1@@Z": "C::m", "??BC@@QEBAHXZ": "C::operator int",
	} {
		if got, ok := Demangle(symbol, true); got != want || !ok {
			t.Errorf("%s, short: %q, want %q", symbol, got, want)
		}
	}
	for _, symbol := range []string{
		"", "f", "?", "??", "?@@", "?f@@YAXXZtail", "??0@QEAA@XZ", "?f@@YAX", "?f@@YAX9@Z", "?f@1@YAXXZ", "??_C@_01A@a@",
		"??@0123456789abcdef0123456789abcdef@", "?f@@YAX_~@Z", "??BC@@3HA", "??B@9", "?a@@YAXPEAYA@H@Z", "?a@@YAXPEAYPPPPPPPP@H@Z", "??__E?Foo@@YAXXZ",
	} {
		if got, ok := Demangle(symbol, false); ok {
			t.Errorf("%q is read as %q", symbol, got)
		}
	}
}

func TestHandlerOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"?catch$2@?0??rethrow@@YAHH@Z@4HA": "?rethrow@@YAHH@Z", "?dtor$12@?0?dllfn@4HA": "dllfn",
		"?catch$@?0?f@4HA": "", "?catch$2@?0?f@4H": "", "?catch$2@?0?@4HA": "", "?catch@@YAXXZ": "", "f": "",
	} {
		if got, ok := HandlerOf(name); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, want)
		}
	}
}

// TestLimits has names that would become as long as one likes, and as deep.
func TestLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1000) + "@"
	doubled := "V" + long + "@"
	for range 20 {
		doubled = "V?$" + long[:len(long)-1] + "@" + doubled + "V1@@@"
	}
	for _, symbol := range []string{
		"?f@@YAX" + doubled + "@Z",
		"?f@@YAX" + strings.Repeat("PEA", 100_000) + "H@Z",
		"?f@@YAX" + strings.Repeat("V?$a@", 100_000),
		strings.Repeat("?f@?1?", 50_000) + "?f@@YAXXZ",
		"?f@@YAXP6AX" + strings.Repeat("V"+long+"@0000000000", 100) + "@Z@Z",
		"?f@@YAXPEAYBAAAA@" + strings.Repeat("0", 1<<16) + "H@Z",
	} {
		if got, ok := Demangle(symbol, false); ok {
			t.Errorf("%.20s… is read: %d bytes", symbol, len(got))
		}
	}
	if got := len(qualified(slices.Repeat([]*piece{{name: long}}, 1000))); got <= maxLength || got > 2*maxLength {
		t.Errorf("a name that is too long: %d bytes", got)
	}
}

// FuzzDemangle looks for names that end the program, or take long.
func FuzzDemangle(f *testing.F) {
	for _, symbol := range []string{
		"?f@n@@YAHPEBD@Z", "??$t@$$A6AXH@Z$1?f@@YAXXZ$02$$V@@YAXXZ", "??R<lambda_0>@?0??f@@YAXXZ@QEBA@XZ", "?m@C@@$R477BA@7EAAXXZ", "??__E?x@C@@2UD@@A@@YAXXZ",
		"?p@@YAXP8C@@EAAHXZPEQ1@HPEAY02$$CBH@Z", "??$?BH@C@@QEAAHXZ", "?filt$0@0@f@n@@", "??$x@$H??_91@$BA@AEA@$F7A@$MH00@@YA?A?<auto>@@H@Z",
	} {
		f.Add(symbol, false)
	}
	f.Fuzz(func(t *testing.T, symbol string, short bool) {
		text, ok := Demangle(symbol, short)
		if ok == (text == "") || len(text) > 2*maxLength+len(symbol) {
			t.Errorf("%q, %v: %d bytes, %v", symbol, short, len(text), ok)
		}
	})
}
