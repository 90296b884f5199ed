package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// downloaded is a program whose compressed size is measured.
type downloaded struct {
	name, source string // and its Debian source package
	compile      string // shell commands that leave objects in $OBJECTS; $FLAGS are the compiler's
	link         []string
	args         []string // of its start
}

// compileAll compiles the files that follow, two at a time.
const compileAll = `each() { compiler=$1; shift; printf '%s\n' "$@" | xargs -P2 -I{} sh -c '"$0" $FLAGS -c "$1" -o "$OBJECTS/$(echo "$1" | tr / _).o"' $compiler {}; }; `

var downloads = []downloaded{
	{"Lua", "lua5.4", `FLAGS="$FLAGS -DLUA_USE_POSIX -DLUA_COMPAT_5_3" each clang-22 $(ls src/*.c | grep -v luac.c)`, []string{"-lm"}, []string{"-e", "print(('x'):rep(3))"}},
	{"Ninja", "ninja-build", `FLAGS="$FLAGS -std=c++17" each clang++-22 $(ls src/*.cc | grep -vE 'win32|test|minidump|msvc|browse|canon_perf|hash_coll|\.in\.cc')`, nil, []string{"--version"}},
	{"Zstandard", "zstd", `FLAGS="$FLAGS -DXXH_NAMESPACE=ZSTD_ -DZSTD_DISABLE_ASM -Ilib -Ilib/common" each clang-22 lib/common/*.c lib/compress/*.c lib/decompress/*.c lib/dictBuilder/*.c programs/*.c`, []string{"-lpthread"}, []string{"-b1", "-i0", "/etc/services"}},
	{"SQLite", "sqlite3", `./configure -q >/dev/null && make sqlite3.c shell.c >/dev/null && FLAGS="$FLAGS -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION" each clang-22 sqlite3.c shell.c`, []string{"-lm"}, []string{":memory:", "create table a(b,c); insert into a values(1,2),(3,4); select sum(b) from a group by c order by 1;"}},
	{"7-Zip", "7zip", `cd CPP/7zip/Bundles/Alone2 && make -j2 -f makefile.gcc DISABLE_RAR=1 USE_ASM= CC="clang-22 $FLAGS" CXX="clang++-22 $FLAGS" CFLAGS_WARN_WALL=-w LDFLAGS_STATIC_2= >/dev/null && cp _o/*.o "$OBJECTS"`, []string{"-ldl", "-lpthread"}, []string{"i"}},
}

const downloadNotes = `Programs built by clang -O2 -ffunction-sections and linked by lld in three orders: with the functions that
a start runs first ("start"), and the others as lld's --bp-compression-sort=function places them, or
as cairn order --compress does. The numbers are bytes: of the code and of the whole stripped file,
compressed by zstd -19 and xz -9e; the percentages are relative to "start". Pages are those of
4 KiB with code of functions that the start runs, as cairn pages counts them. The starts:

`

// startsNote lists the arguments of each start.
func startsNote() string {
	lines := make([]string, len(downloads))
	for i := range downloads {
		lines[i] = fmt.Sprintf("- %s: `%s`", downloads[i].name, strings.Join(downloads[i].args, " "))
	}
	return strings.Join(lines, "\n")
}

// download measures compressed sizes, and writes DOWNLOAD.md.
func (b *bench) download(ctx context.Context) error {
	rows := [][]string{{"program", "order", "code, zstd", "", "code, xz", "", "file, zstd", "", "file, xz", "", "pages"}}
	for i := range downloads {
		d := &downloads[i]
		fmt.Fprintf(b.log, "-- %s\n", d.name)
		more, err := b.downloadRows(ctx, d)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		rows = append(rows, more...)
	}
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Orders and the size of the download", downloadNotes+startsNote(), [][]string{{"clang", "clang-22", "--version"}})
	table(&text, rows)
	return os.WriteFile(filepath.Join(b.root, "bench", "DOWNLOAD.md"), text.Bytes(), 0o644)
}

// downloadRows builds one program and links it in each order.
func (b *bench) downloadRows(ctx context.Context, d *downloaded) ([][]string, error) {
	dir, err := os.MkdirTemp(b.out, "download-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := b.downloadOrders(ctx, dir, d); err != nil {
		return nil, err
	}
	var rows [][]string
	var base []int64
	for _, o := range [][]string{
		{"start", "-Wl,--symbol-ordering-file=start.order"},
		{"lld", "-Wl,--symbol-ordering-file=start.order", "-Wl,--bp-compression-sort=function"},
		{"--compress", "-Wl,--symbol-ordering-file=packed.order"},
	} {
		if err := d.linkAs(ctx, dir, "linked", o[1:]...); err != nil {
			return nil, err
		}
		sizes, err := compressedSizes(ctx, dir)
		if err != nil {
			return nil, err
		}
		if base == nil {
			base = sizes
		}
		row := []string{d.name, o[0]}
		for i, n := range sizes {
			row = append(row, strconv.FormatInt(n, 10), percent(float64(n)/float64(base[i])-1))
		}
		pages, err := b.startPages(ctx, dir)
		if err != nil {
			return nil, err
		}
		rows = append(rows, append(row, pages))
	}
	return rows, nil
}

// downloadOrders compiles a program, records a start of it, and writes the orders
// "start.order" and "packed.order".
func (b *bench) downloadOrders(ctx context.Context, dir string, d *downloaded) error {
	tree, objects := filepath.Join(dir, "tree"), filepath.Join(dir, "objects")
	if err := os.Mkdir(objects, 0o755); err != nil {
		return err
	}
	if _, err := output(ctx, b.root, "scripts/debian-source.sh", d.source, tree); err != nil {
		return err
	}
	build := command(ctx, tree, []string{"OBJECTS=" + objects, "FLAGS=-O2 -w -ffunction-sections"}, "bash", "-ec", "export FLAGS; "+compileAll+d.compile)
	if _, err := finish(build); err != nil {
		return err
	}
	if err := d.linkAs(ctx, dir, "plain"); err != nil {
		return err
	}
	start := append([]string{b.cairn, "order", "--run", "-p", "start.mip", "-o", "start.order", "--", "./plain"}, d.args...)
	if _, err := output(ctx, dir, start...); err != nil {
		return err
	}
	_, err := output(ctx, dir, b.cairn, "order", "start.mip", "--binary", "plain", "--compress", "-o", "packed.order")
	return err
}

// linkAs links the objects with flags.
func (d *downloaded) linkAs(ctx context.Context, dir, name string, flags ...string) error {
	objects, err := filepath.Glob(filepath.Join(dir, "objects", "*.o"))
	if err != nil {
		return err
	}
	argv := []string{"clang++-22", "-fuse-ld=lld", "-Wl,--build-id", "-Wl,--no-warn-symbol-ordering", "-o", name}
	_, err = output(ctx, dir, slices.Concat(argv, objects, d.link, flags)...)
	return err
}

// compressedSizes are those of the code of "linked" and of the whole file without symbols.
func compressedSizes(ctx context.Context, dir string) ([]int64, error) {
	const script = `llvm-objcopy-22 -O binary --only-section=.text linked text && llvm-strip-22 -o file linked
for f in text file; do zstd -19 -q -c $f | wc -c; xz -9e -T1 -c $f | wc -c; done`
	out, err := output(ctx, dir, "bash", "-ec", script)
	if err != nil {
		return nil, err
	}
	var sizes []int64
	for _, word := range strings.Fields(out) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// startPages is the number of pages that the start touches in "linked".
func (b *bench) startPages(ctx context.Context, dir string) (string, error) {
	out, err := output(ctx, dir, "bash", "-ec", `"$0" pages linked -p start.mip | tail -n 1`, b.cairn)
	if err != nil {
		return "", err
	}
	words := strings.Fields(out)
	if len(words) < 5 {
		return "", fmt.Errorf("cairn pages printed %q", out)
	}
	return words[len(words)-3], nil
}
