package main

import "slices"

// guest is a real program that is built as it comes.
type guest struct {
	name    string
	source  string   // Debian source package
	system  string   // what builds it
	tools   []string // programs that the build or the tests need
	files   []string // files that they need, of other packages
	build   string   // shell commands, in the tree
	binary  string   // what is measured, in the tree
	modules []string // what else has records: globs in the tree

	// test is shell commands in the tree that run the program's own tests. What they
	// print must not depend on the time, the machine or the directory: it is what is
	// compared.
	test string
	env  []string

	cases []variant // ways to build it, nil for all in variants
	strip string    // the command that strips its binary, "" for strip
}

// modulesOf returns globs of all that may have records.
func (g *guest) modulesOf() []string { return append([]string{g.binary}, g.modules...) }

// variants returns the ways to build a guest.
func (g *guest) variants() []variant {
	if g.cases != nil {
		return g.cases
	}
	return variants
}

// zlib is the sample's guest as well.
var zlib = guest{
	name: "zlib", source: "zlib", system: "its own configure, make",
	build: "./configure && make -j2", binary: "minigzip", modules: []string{"libz.so.1", "example", "examplesh", "minigzipsh", "example64", "minigzip64"},
	test: `make test 2>&1 | grep 'zlib\|inflate\|deflate\|gz\|uncompress' | grep -v '^gcc\|^cc\|version'
		for level in 1 6 9; do ./minigzip -$level <FAQ | ./minigzip -d | cksum; done`,
}

var guests = slices.Concat([]guest{
	zlib,
	{
		name: "lua", source: "lua5.4", system: "make",
		build: "make -j2 generic MYCFLAGS=-DLUA_USE_POSIX", binary: "src/lua", modules: []string{"src/luac"},
		test: `src/luac -o all.out -p -l src/../doc/../src/*.lua 2>/dev/null | wc -l
			src/lua - <<'END'
			local t, words = {}, {}
			for i = 1, 20000 do t[#t + 1] = (i * 7919) % 10007 end
			table.sort(t)
			for i = 1, 2000 do words[i] = ("%05d"):format(t[i]):rep(3, "-") end
			print(#table.concat(words), select(2, table.concat(words):gsub("0+", "")))
			local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i) end end)
			local sum = 0
			for i = 1, 1000 do sum = sum + co() end
			print(sum, pcall(error, "thrown"), select("#", load("return ...")(1, 2, 3)))
			local function deep(n) if n == 0 then error({code = 7}) end return deep(n - 1) + 1 end
			print(select(2, pcall(deep, 5000)).code)
			setmetatable(t, {__gc = function() print("collected") end}) t = nil collectgarbage()
END`,
	},
	{
		name: "lz4", source: "lz4", system: "make", build: "make -j2 lib lz4", binary: "lz4", modules: []string{"lib/liblz4.so.*.*"},
		test: `for level in 1 3 9 12; do ./lz4 -q -$level -c NEWS | tee packed | cksum; ./lz4 -q -d -c packed | cksum; done
			./lz4 -q -BD -B4 -c NEWS | ./lz4 -q -d -c | cmp - NEWS && echo same
			head -c 700 packed | ./lz4 -q -d -c 2>&1 >/dev/null | wc -l`,
	},
	{
		name: "bzip2", source: "bzip2", system: "make", build: "make -j2 bzip2 bzip2recover libbz2.a", binary: "bzip2", modules: []string{"bzip2recover"},
		test: "make test 2>&1 | grep -v '^gcc\\|^cc' && for level in 1 9; do ./bzip2 -$level -c manual.html | cksum; done",
	},
	{
		// Its extras and its manual need programs that nobody else here does.
		name: "gawk", source: "gawk", system: "autotools",
		build: "./configure --disable-nls --disable-extensions --without-readline && make -j2 -C support && make -j2 gawk", binary: "gawk",
		test: "make -k -C test check 2>/dev/null | grep -i 'fail\\|passed\\|^===\\|differ' | sort",
		env:  []string{"LC_ALL=C"},
	},
	{
		name: "jq", source: "jq", system: "autotools", tools: []string{"autoreconf", "bison", "flex"},
		files: []string{"/usr/include/oniguruma.h"},
		build: "autoreconf -i && ./configure --disable-docs --disable-maintainer-mode --disable-valgrind && make -j2", binary: "jq", modules: []string{".libs/jq", ".libs/libjq.so.*.*"},
		test: "make check 2>&1 | grep '^PASS\\|^FAIL' | sort",
	},
	{
		name: "redis", source: "redis", system: "make", tools: []string{"tclsh"}, build: "make -j2 MALLOC=libc", binary: "src/redis-server", modules: []string{"src/redis-cli"},
		test: "./runtest --single unit/type/string --single unit/type/list --single unit/scripting 2>&1 | grep -o '\\[ok\\]: [^(]*\\|\\[err\\].*' | sort",
	},
	{
		name: "nginx", source: "nginx", system: "its own configure, make", tools: []string{"curl"},
		build: "./configure --without-http_rewrite_module --without-http_gzip_module --prefix=run && make -j2", binary: "objs/nginx",
		test: `mkdir -p run/logs run/html && echo hello >run/html/index.html && cp conf/mime.types run/
			echo "worker_processes 2; pid nginx.pid; error_log error.log; events { } http { access_log off; server { listen unix:$PWD/run/socket; root html; } }" >run/nginx.conf
			objs/nginx -p run/ -c nginx.conf && for i in 1 2 3 4 5 6 7 8; do curl -s --unix-socket run/socket http://x/index.html; curl -s -o /dev/null -w '%{http_code}\n' --unix-socket run/socket http://x/none; done
			objs/nginx -p run/ -c nginx.conf -s quit; while test -e run/nginx.pid; do sleep 0.1; done; grep -c emerg run/error.log || true`,
	},
	{
		// Debian's sources are without a copy of googletest. Some of the tests take minutes
		// to compile.
		name: "fmt", source: "fmtlib", system: "CMake, make", tools: []string{"cmake"},
		files: []string{"/usr/include/gmock/gmock.h"},
		build: `mkdir -p test/gtest && cat >test/gtest/CMakeLists.txt <<'END'
find_package(GTest REQUIRED)
add_library(gtest INTERFACE)
target_link_libraries(gtest INTERFACE GTest::gmock GTest::gtest)
END
			cmake -B out -DCMAKE_BUILD_TYPE=Release -DFMT_DOC=OFF &&
			cmake --build out -j2 --target args-test assert-test color-test core-test gtest-extra-test printf-test`,
		binary: "out/bin/core-test", modules: []string{"out/bin/*-test"},
		test: `for name in args assert color core gtest-extra printf; do out/bin/$name-test | sed 's/ ([0-9]* ms.*//'; done`,
	},
	{
		name: "jsoncpp", source: "libjsoncpp", system: "CMake, ninja", tools: []string{"cmake", "ninja"},
		build: "cmake -G Ninja -B out -DCMAKE_BUILD_TYPE=Release -DJSONCPP_WITH_POST_BUILD_UNITTEST=OFF && cmake --build out -j2", binary: "out/bin/jsoncpp_test", modules: []string{"out/lib/*.so.*.*"},
		test: "out/bin/jsoncpp_test 2>&1 | tail -n 1; cd out && ctest 2>&1 | sed -n 's/ *[0-9.]* sec.*//; /Test *#/p; /tests passed/p'",
	},
	{
		name: "tinyxml2", source: "tinyxml2", system: "CMake, make", tools: []string{"cmake"},
		build: "cmake -B out -DCMAKE_BUILD_TYPE=Release && cmake --build out -j2", binary: "out/xmltest", modules: []string{"out/libtinyxml2.so.*.*"},
		test: "mkdir -p resources/out && out/xmltest | grep '^\\[\\|Pass'",
	},
	{
		name: "pkgconf", source: "pkgconf", system: "meson", tools: []string{"meson", "ninja"},
		build: "meson setup -Dtests=false out && ninja -C out", binary: "out/pkgconf", modules: []string{"out/libpkgconf.so.*.*"},
		test: `export PKG_CONFIG_PATH=$PWD/tests/lib1
			for f in tests/lib1/*.pc; do
				name=$(basename $f .pc)
				for option in --libs --cflags --print-requires --print-variables --modversion --validate; do
					echo "$name $option: $(out/pkgconf $option $name 2>&1 | sed "s,$PWD,,g")"
				done
			done`,
	},
	{
		name: "blas", source: "lapack", system: "make, Fortran", tools: []string{"gfortran"},
		build: "cp make.inc.example make.inc && make -j2 blaslib && make -C BLAS/TESTING -j2 xblat1d xblat2d xblat3d", binary: "BLAS/TESTING/xblat3d", modules: []string{"BLAS/TESTING/xblat*"},
		test: "cd BLAS/TESTING && ./xblat1d && ./xblat2d <dblat2.in && grep -c PASSED dblat2.out; ./xblat3d <dblat3.in && grep -c PASSED dblat3.out",
	},
	{
		// Debian's sources are without a copy of SQLite: the C is that of cgo.
		name: "go-sqlite3", source: "golang-github-mattn-go-sqlite3", system: "go, cgo", tools: []string{"go"},
		files: []string{"/usr/include/sqlite3.h"},
		build: "go test -c -tags libsqlite3 -o cgo.test -ldflags=-extldflags=-no-pie .", binary: "cgo.test",
		test: "./cgo.test -test.short -test.run 'TestOpen|TestInsert|TestUpdate|TestSelect|TestQuery|TestTransaction' -test.v 2>&1 | grep -o '^--- [A-Z]*: [A-Za-z0-9_]*' | sort",
		env:  []string{"CAIRN_CONTINUOUS=1", "GOFLAGS=-mod=mod"},
	},
	{
		name: "hello", source: "hello", system: "dpkg-buildpackage", tools: []string{"dpkg-buildpackage", "dh", "makeinfo"},
		build: "dpkg-buildpackage -b -d -uc -us", binary: "hello", test: "make check 2>&1 | grep '^# [A-Z]*:\\|^PASS\\|^FAIL' | sort",
	},
}, ltoGuests, crossGuests())
