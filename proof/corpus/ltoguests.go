package main

// What clang's link-time optimisation needs. Archives of bitcode need LLVM's archiver.
var ltoTools = []string{"clang++-22", "ld.lld-22", "llvm-ar-22"}

// ltoGuests are built with link-time optimisation, as their users ask their build systems for it.
var ltoGuests = []guest{
	{
		// Its meson.build has no tests: they are compiled as its Makefile does.
		name: "lcms2", source: "lcms2", system: "meson, clang -flto=thin", tools: append([]string{"meson", "ninja"}, ltoTools...),
		build: `export CC=clang-22 CC_LD=lld AR=llvm-ar-22
			meson setup -Dbuildtype=release -Ddefault_library=both -Db_lto=true -Db_lto_mode=thin out && ninja -C out
			cc="$CC -flto=thin -fuse-ld=lld -O2 -w -Iinclude -Isrc -Iutils/common -DHasTHREADS=1"
			$cc testbed/testcms2.c testbed/testplugin.c testbed/zoo_icc.c out/liblcms2.a -lm -lpthread -o out/testcms
			$cc utils/common/*.c utils/transicc/transicc.c -Lout -llcms2 -lm '-Wl,-rpath,$ORIGIN' -o out/transicc`,
		binary: "out/testcms", modules: []string{"out/transicc", "out/liblcms2.so.*.*.*"},
		test: `for f in testbed/*.icc; do echo 10 200 30 | out/transicc -n -v0 -i$f '-o*Lab' -t1 2>&1; done
			cd testbed && ../out/testcms | grep -v 'MPixel\|test bed'`,
	},
	{
		// It asks for CMake 3.4, by whose policies the setting has no effect.
		name: "pugixml", source: "pugixml", system: "CMake, clang -flto=thin", tools: append([]string{"cmake"}, ltoTools...),
		build: `CC=clang-22 CXX=clang++-22 cmake -B out -DCMAKE_BUILD_TYPE=Release -DPUGIXML_BUILD_TESTS=ON -DCMAKE_POLICY_DEFAULT_CMP0069=NEW -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \
			-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld && cmake --build out -j2`,
		binary: "out/pugixml-check",
		test:   "out/pugixml-check; cd out && ctest | sed -n 's/ *[0-9.]* sec.*//; /Test *#/p; /tests passed/p'",
	},
	{
		// Debian's flags for it are -flto=auto -ffat-lto-objects.
		name: "hunspell", source: "hunspell", system: "dpkg-buildpackage, gcc -flto=auto", tools: []string{"dpkg-buildpackage", "dh", "autopoint"},
		files:  []string{"/usr/include/curses.h", "/usr/include/readline/readline.h"},
		build:  "DEB_BUILD_MAINT_OPTIONS=optimize=+lto DEB_BUILD_OPTIONS=parallel=2 dpkg-buildpackage -b -d -uc -us",
		binary: "src/tools/.libs/hunspell", modules: []string{"src/hunspell/.libs/libhunspell-*.so.*.*"},
		test: "make -k check 2>&1 | grep '^# [A-Z]*:\\|^PASS\\|^FAIL' | sort",
	},
}
