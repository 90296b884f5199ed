package coverage

import "testing"

func TestSystemFile(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/usr/include/stdio.h":                                                             true,
		"/usr/include/x86_64-linux-gnu/bits/stdio2.h":                                      true,
		"/usr/local/include/boost/any.hpp":                                                 true,
		"/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h":                             true,
		"/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h":    true,
		"/usr/lib/gcc-cross/aarch64-linux-gnu/12/include/arm_neon.h":                       true,
		"/usr/aarch64-linux-gnu/include/bits/stdio2.h":                                     true,
		"/usr/aarch64-linux-gnu/sys-root/usr/include/string.h":                             true,
		"/usr/lib/llvm-16/lib/clang/16/include/emmintrin.h":                                true,
		"/usr/lib/llvm-16/include/c++/v1/vector":                                           true,
		"/usr/lib64/clang/18/include/emmintrin.h":                                          true,
		"/opt/gcc-14.1/include/c++/14.1.0/vector":                                          true,
		"/opt/sdk/sysroots/cortexa72-poky-linux/usr/include/stdlib.h":                      true,
		"/opt/ndk/toolchains/llvm/prebuilt/linux-x86_64/sysroot/usr/include/c++/v1/string": true,
		"/Applications/Xcode.app/Contents/Developer/SDKs/MacOSX14.sdk/usr/include/stdio.h": true,
		"/nix/store/4x2-glibc-2.38-dev/include/bits/stdio2.h":                              true,
		"/usr/x86_64-w64-mingw32/include/stdio.h":                                          true,
		"/home/u/llvm-project/lib/clang/18/include/emmintrin.h":                            true,
		"/home/u/app/include/app.h":                                                        false,
		"/home/u/usr/include/app.h":                                                        false,
		"/usr/src/app/main.c":                                                              false,
		"/usr/local/src/app/main.c":                                                        false,
		"/home/u/src/gcc/config/i386.c":                                                    false,
		"/home/u/lib/gcc/main.c":                                                           false,
		"/home/u/include/c++/wrapper.h":                                                    false,
		"include/stdio.h":                                                                  false,
		"main.c":                                                                           false,
		"":                                                                                 false,
		"/usr/include/../src/app/main.c":                                                   false,
		"/usr/include":                                                                     false,
		"/build/lib/clang-tools/main.cpp":                                                  false,
		"/home/u/work/sysroot-tools/main.c":                                                false,
		"/home/u/llvm/include/llvm/ADT/StringRef.h":                                        false,
	} {
		if got := SystemFile(path); got != want {
			t.Errorf("%q: %t, want %t", path, got, want)
		}
	}
}

// TestSystemLeftOut checks that what is left out is all that was there.
func TestSystemLeftOut(t *testing.T) {
	t.Parallel()
	files := []SourceFile{
		{File: "/src/a.c", Lines: []Line{{Number: 1, State: Ran, Runs: 1}}},
		{File: "/usr/include/stdio.h", Funcs: []SourceFunc{{Name: "printf"}}, Lines: []Line{{Number: 5}, {Number: 6}}},
	}
	r, err := NewPathRules([]string{"/usr/include=/src/inc"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Apply(files); len(got) != 1 || got[0].File != "/src/a.c" {
		t.Errorf("files %v", got)
	}
	if got, want := r.LeftOut(files), (LeftOut{1, 1, 2}); got != want {
		t.Errorf("left out %v, want %v", got, want)
	}
	r.System = true
	if got := r.Apply(files); len(got) != 2 {
		t.Errorf("files %v", got)
	}
	if got := r.LeftOut(files); got != (LeftOut{}) {
		t.Errorf("left out %v, want nothing", got)
	}
}
