package main

// A clockGuest is a program that is built in several ways, trained, and measured with
// other inputs. Its scripts are those of a shell, and end at the first error.
type clockGuest struct {
	name    string
	source  string // Debian source package; "": SQLite's amalgamation
	prepare string // in the unpacked tree, once
	// build makes the program in a copy of the tree, by $CC, $CXX, $CFLAGS and
	// $LDFLAGS. It is run again, without the program, to link alone.
	build  string
	binary string // that build makes
	// data makes the inputs, in a directory of their own; $SOURCES has the trees of all guests, $AMALGAMATION SQLite and its workload,
	// and $1 and $2 are the sizes.
	data string
	// train and work run the program, $P with what is in front of it, in the
	// directory of the inputs; $SIZE is one of sizes.
	train, work string
	sizes       clockSizes
}

// clockSizes are how much a guest works: enough for a clock, and little enough for a model,
// which is a hundred times slower. What they count is the guest's.
type clockSizes struct{ clock, model string }

// Without threads, as a series is of one processor.
var clockGuests = []clockGuest{
	{
		name:    "SQLite",
		prepare: `cp "$AMALGAMATION"/sqlite3.[ch] "$AMALGAMATION"/speed.c .`,
		build:   `make -f clock.mk -j2 PROGRAM=speed SOURCES="sqlite3.c speed.c" LINK="$CC" DEFINES=-DSQLITE_THREADSAFE=0 LIBS="-lm -ldl"`,
		binary:  "speed",
		train:   `$P 3000 :memory:`,
		work:    `$P $SIZE :memory:`,
		sizes:   clockSizes{"12000", "1000"},
	},
	{
		name: "Lua", source: "lua5.4",
		build: `make -f clock.mk -j2 PROGRAM=lua SOURCES="$(echo src/l*.c | sed 's| src/luac.c||')" LINK="$CC" \
  DEFINES="-DLUA_USE_POSIX -DLUA_COMPAT_5_3" LIBS=-lm`,
		binary: "lua",
		data:   `cp "$SCRIPTS"/*.lua .`,
		train:  `$P train.lua 10`,
		work:   `$P work.lua $SIZE`,
		sizes:  clockSizes{"60", "6"},
	},
	{
		name: "mujs", source: "mujs",
		build: `make -f clock.mk -j2 PROGRAM=mujs SOURCES="$(echo js*.c utf.c regexp.c main.c)" LINK="$CC" \
  DEFINES="-std=c99 -D_GNU_SOURCE" LIBS=-lm`,
		binary: "mujs",
		data:   `cp "$SCRIPTS"/*.js .`,
		train:  `$P train.js 40`,
		work:   `$P work.js $SIZE`,
		sizes:  clockSizes{"450", "10"},
	},
	{
		name: "xz", source: "xz-utils",
		prepare: `./configure -q --disable-shared --disable-nls --disable-doc --disable-threads --disable-xzdec --disable-lzmadec --disable-scripts --disable-assembler`,
		build: `make -s -j2 -C src/liblzma CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS"
make -s -j2 -C src/xz CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS"`,
		binary: "src/xz/xz",
		data: `find "$SOURCES/zstd/lib" -name '*.c' | sort | xargs cat | head -c 600000 >train
for n in "$@"; do find "$SOURCES/git/Documentation" -name '*.txt' | sort | xargs cat | head -c $n >work.$n; xz -9ck work.$n >work.$n.xz; done`,
		train: `for l in 1 4 6; do $P -$l -c train >train.xz; $P -dc train.xz; done`,
		work:  `$P -6 -c work.$SIZE; for i in 1 2 3; do $P -dc work.$SIZE.xz; done`,
		sizes: clockSizes{"500000", "60000"},
	},
	{
		name: "zstd", source: "zstd",
		build: `make -f clock.mk -j2 PROGRAM=zstd-bin SOURCES="$(echo lib/common/*.c lib/compress/*.c lib/decompress/*.c lib/dictBuilder/*.c programs/*.c)" LINK="$CC" \
  DEFINES="-DXXH_NAMESPACE=ZSTD_ -DZSTD_DISABLE_ASM -Ilib -Ilib/common -Ilib/compress" LIBS=`,
		binary: "zstd-bin",
		data: `find "$SOURCES/xz-utils/src" -name '*.c' | sort | xargs cat | head -c 900000 >train
for n in "$@"; do find "$SOURCES/git/Documentation" -name '*.txt' | sort | xargs cat | head -c $n >work.$n; zstd -q -12 -k work.$n; done`,
		train: `for l in 1 3 5 8 12; do $P -q -c -$l train >train.zst; $P -q -dc train.zst; done`,
		work:  `for l in 1 3 8; do $P -q -c -$l work.$SIZE; done; for i in 1 2 3; do $P -q -dc work.$SIZE.zst; done`,
		sizes: clockSizes{"2800000", "300000"}, // more than 256 KiB, as in training: zstd's levels are other algorithms below that
	},
	{
		name: "Ninja", source: "ninja-build",
		build: `make -f clock.mk -j2 PROGRAM=ninja LINK="$CXX" DEFINES="-std=c++17" LIBS= \
  SOURCES="$(ls src/*.cc | grep -vE 'win32|test|minidump|msvc|browse|canon_perf|hash_coll|perftest|\.in\.cc' | tr '\n' ' ')"`,
		binary: "ninja",
		data:   `"$SCRIPTS"/ninja.sh train 300 4; for n in "$@"; do "$SCRIPTS"/ninja.sh work.$n $n 9; done`,
		train:  `$P -C train -n; $P -C train -t compdb; $P -C train -t graph; $P -C train -n -v bin/program9`,
		work:   `$P -C work.$SIZE -n -v; $P -C work.$SIZE -t targets all`,
		sizes:  clockSizes{"3500", "250"},
	},
	{
		name: "git", source: "git",
		prepare: gitGuest.prepare,
		build:   `make -s -j2 git CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS"`,
		binary:  "git",
		data: `"$SCRIPTS"/repository.sh train "$SOURCES"/lua5.4/src/l[a-l]*.c
"$SCRIPTS"/repository.sh work "$SOURCES"/mujs/js[a-p]*.c "$SOURCES"/mujs/utf.c`,
		train: `$P -C train log --stat; $P -C train log -p -n 40; $P -C train blame lcode.c; $P -C train grep -n luaK; $P -C train status; $P -C train rev-list --objects --all`,
		work:  `$P -C work log -p -M -n $SIZE; for f in jsarray.c jscompile.c; do $P -C work blame $f; done; $P -C work grep -nE 'js_[a-z]+\('; $P -C work diff HEAD~20`,
		sizes: clockSizes{"60", "6"},
	},
	{
		name: "7-Zip", source: "7zip",
		build: `make -s -j2 -C CPP/7zip/Bundles/Alone -f makefile.gcc DISABLE_RAR=1 USE_ASM= CC="$CC $CFLAGS" CXX="$CXX $CFLAGS $LDFLAGS" \
  CFLAGS_WARN_WALL=-w LDFLAGS_STATIC_2=`,
		binary: "CPP/7zip/Bundles/Alone/_o/7za",
		data: `mkdir train; cp "$SOURCES"/mujs/*.c train
for n in "$@"; do mkdir work.$n; for f in $(ls "$SOURCES"/git/*.c | head -n $n); do cp "$f" work.$n; done; done
find . -exec touch -h -d '2020-01-01 UTC' {} +`,
		train: sevenZip("train"),
		work:  sevenZip("work.$SIZE"),
		sizes: clockSizes{"70", "6"},
	},
}

// sevenZip packs a directory in two formats, and lists, tests and hashes it.
func sevenZip(dir string) string {
	return `rm -f out.7z out.zip; $P a -bd -mmt1 -mx3 -mqs out.7z ` + dir + ` >log; $P a -bd -mmt1 -mx3 -tzip out.zip ` + dir + ` >log
for a in out.7z out.zip; do $P x -so $a; $P t -bd $a >log; done; $P l -ba out.zip; $P h -ba -mmt1 -scrcSHA256 ` + dir
}
