package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// guest is a real program whose start is measured.
type guest struct {
	name    string
	source  string // Debian source package
	binary  string // in the tree
	prepare string // shell commands, in the unpacked tree, once
	// make returns the command that builds the program in a tree, with
	// compiler and flags.
	make func(cc, cflags, ldflags string) []string
	// data is shell commands that make the files scenarios work on, in a
	// directory of their own; $GUEST is the program.
	data      string
	env       []string
	scenarios []scenario
	// home is set if the program must lie in its tree to run.
	home bool
}

// scenario is a run of a guest.
type scenario struct {
	name  string
	args  []string
	stdin string
}

// guests are the programs: one small, two whose code has more than 500 pages.
var guests = []guest{sqliteGuest, gitGuest, pythonGuest}

var sqliteGuest = guest{
	name: "sqlite3", source: "sqlite3", binary: "sqlite3",
	prepare: "./configure -q >/dev/null && make sqlite3.c shell.c >/dev/null && printf '%s\\n' 'bench: shell.o sqlite3.o' " +
		"'\t$(CC) $(CFLAGS) $(LDFLAGS) -o sqlite3 shell.o sqlite3.o -lm' >bench.mk",
	make: func(cc, cflags, ldflags string) []string {
		return []string{"make", "-f", "bench.mk", "-j2", "bench", "CC=" + cc, "CFLAGS=" + cflags + " -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION", "LDFLAGS=" + ldflags}
	},
	data: `"$GUEST" data.db "create table a(id integer primary key, b text, c int); create table d(id int, e text); create index i on a(c);
with recursive n(x) as (select 1 union all select x+1 from n where x<400) insert into a select x, 'row '||x, x%7 from n; insert into d select c, b from a where id<50;
create trigger t after update on a begin update d set e=new.b where id=new.c; end;"`,
	scenarios: []scenario{
		{"memory", []string{":memory:", "select 1+1, upper('x')"}, ""},
		{"create", []string{"new.db", "create table x(a primary key, b); insert into x values(1,2),(3,4); select * from x order by b"}, ""},
		{"query", []string{"-column", "data.db", "select e, count(*), sum(a.c) from a join d on a.c=d.id group by e having count(*)>1 order by 2 desc limit 5"}, ""},
		{"dump", []string{"data.db", ".dump"}, ""},
		{"update", []string{"data.db", "begin; update a set b='z' where c=3; delete from a where id>300; commit; vacuum; pragma integrity_check"}, ""},
		{"csv", []string{"data.db"}, ".mode csv\n.headers on\nselect * from a where b like '%9' ;\n.schema\n"},
		{"tables", []string{"data.db", ".tables"}, ""},
		{"window", []string{"data.db", "select b, row_number() over (partition by c order by id) from a limit 9"}, ""},
		{"json", []string{":memory:", `select json_object('a', json_array(1, 2)), json_extract('{"x": [1, 2]}', '$.x[1]')`}, ""},
		{"backup", []string{"data.db", ".backup copy.db"}, ""},
	},
}

var gitGuest = guest{
	name: "git", source: "git", binary: "git",
	prepare: "for v in NO_CURL NO_EXPAT NO_GETTEXT NO_OPENSSL NO_TCLTK NO_PYTHON NO_PERL NO_INSTALL_HARDLINKS DC_SHA1; do echo $v=1; done >config.mak",
	make: func(cc, cflags, ldflags string) []string {
		return []string{"make", "-j2", "git", "CC=" + cc, "CFLAGS=" + cflags, "LDFLAGS=" + ldflags}
	},
	data: `"$GUEST" init -q . && for i in 1 2 3 4 5; do for f in a b c d e; do seq $((i*100)) >$f.txt; done; "$GUEST" add . && "$GUEST" commit -qm "change $i"; done; echo more >>a.txt; seq 3 >new.txt`,
	env: []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_PAGER=cat", "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0", "GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
	},
	scenarios: []scenario{
		{"status", []string{"status"}, ""},
		{"log", []string{"log", "--stat", "--format=fuller"}, ""},
		{"diff", []string{"diff"}, ""},
		{"blame", []string{"blame", "b.txt"}, ""},
		{"commit", []string{"commit", "-qam", "more"}, ""},
		{"branch", []string{"branch", "-v"}, ""},
		{"show", []string{"show", "HEAD~1"}, ""},
		{"grep", []string{"grep", "-c", "42"}, ""},
		{"checkout", []string{"checkout", "-q", "HEAD~2", "--", "b.txt"}, ""},
		{"shortlog", []string{"shortlog", "-sn", "HEAD"}, ""},
	},
}

// pythonModules are linked in, so that their start is part of the program's.
const pythonModules = "array _asyncio _bisect _contextvars _csv _datetime _heapq _json _opcode _pickle _queue _random _socket " +
	"_statistics _struct _typing _zoneinfo binascii cmath math mmap select _blake2 _md5 _sha1 _sha256 _sha512 _sha3 _lsprof " +
	"_multibytecodec unicodedata _posixsubprocess fcntl grp resource syslog termios zlib _codecs_jp _codecs_kr _codecs_cn"

var pythonGuest = guest{
	name: "python", source: "python3.11", binary: "python", home: true,
	prepare: `(echo '*static*'; for m in ` + pythonModules + `; do sed -n "s/^#$m  *\([^ ].*\)/$m \1/p" Modules/Setup; done) >Modules/Setup.local
CC=clang-22 ./configure -q --disable-test-modules --without-ensurepip >configure.log 2>&1`,
	make: func(cc, cflags, ldflags string) []string {
		return []string{"make", "-j2", "python", "CC=" + cc, "OPT=-DNDEBUG -fwrapv", "CONFIGURE_CFLAGS=" + cflags, "CONFIGURE_LDFLAGS=" + ldflags}
	},
	data: "true",
	env:  []string{"PYTHONHASHSEED=0", "PYTHONNOUSERSITE=1"},
	scenarios: []scenario{
		{"pass", []string{"-c", "pass"}, ""},
		{"json", []string{"-c", "import json; print(len(json.dumps(json.loads('[1, {\"a\": 2.5}]'))))"}, ""},
		{"argparse", []string{"-c", "import argparse; p = argparse.ArgumentParser(); p.add_argument('x'); print(p.parse_args(['1']).x)"}, ""},
		{"asyncio", []string{"-c", "import asyncio; print(asyncio.run(asyncio.sleep(0, 3)))"}, ""},
		{"pickle", []string{"-c", "import datetime, pickle, hashlib; print(hashlib.md5(pickle.dumps(datetime.date(2020, 1, 2))).hexdigest())"}, ""},
		{"traceback", []string{"-c", "import traceback\ntry:\n  {}['x']\nexcept KeyError: traceback.print_exc()"}, ""},
		{"re", []string{"-c", `import re; print(re.sub(r"(a+)(b?)", r"\2\1", "aabab"))`}, ""},
		{"dataclass", []string{"-c", "import dataclasses as d; print(d.make_dataclass('P', ['x', 'y'])(1, 2))"}, ""},
		{"csv", []string{"-c", "import csv, io; print(list(csv.reader(io.StringIO('a,\"b\"\\n1,2'))))"}, ""},
		{"compile", []string{"-c", "exec(compile('def f(x):\\n  return [i * x for i in range(3)]\\nprint(f(2))', 's', 'exec'))"}, ""},
	},
}

// fetch unpacks and prepares the guest's tree, once.
func (g *guest) fetch(ctx context.Context, b *bench) (tree string, err error) {
	tree = filepath.Join(b.out, "guests", g.name)
	done := filepath.Join(tree, ".prepared")
	if _, err := os.Stat(done); err == nil {
		return tree, nil
	}
	if err := os.RemoveAll(tree); err != nil {
		return "", err
	}
	if _, err := output(ctx, b.root, "scripts/debian-source.sh", g.source, tree); err != nil {
		return "", err
	}
	if _, err := output(ctx, tree, "bash", "-ec", g.prepare); err != nil {
		return "", fmt.Errorf("preparing %s: %w", g.name, err)
	}
	return tree, os.WriteFile(done, nil, 0o644)
}

// layout is a program linked in one way.
type layout struct {
	path string // of the binary
	text int64  // bytes of its code
}

// guestTree is the guest in a copy of its tree.
type guestTree struct {
	g   *guest
	b   *bench
	dir string
	cc  string
	cf  string
}

// copied copies the guest's tree and builds the program in it.
func (s *startupGuest) copied(ctx context.Context, name, cc, cflags, ldflags string) (*guestTree, error) {
	t := &guestTree{g: s.g, b: s.b, dir: filepath.Join(s.b.out, "guests", s.g.name+"-"+name), cc: cc, cf: cflags}
	if err := os.RemoveAll(t.dir); err != nil {
		return nil, err
	}
	if _, err := output(ctx, "", "cp", "-a", s.tree, t.dir); err != nil {
		return nil, err
	}
	if _, err := output(ctx, t.dir, s.g.make(cc, cflags, ldflags)...); err != nil {
		return nil, fmt.Errorf("building %s (%s): %w", s.g.name, name, err)
	}
	return t, nil
}

// link links the program again, with other flags, and keeps it as name.
func (t *guestTree) link(ctx context.Context, name, ldflags string) (*layout, error) {
	binary := filepath.Join(t.dir, t.g.binary)
	if err := os.Remove(binary); err != nil {
		return nil, err
	}
	if _, err := output(ctx, t.dir, t.g.make(t.cc, t.cf, ldflags)...); err != nil {
		return nil, fmt.Errorf("linking %s (%s): %w", t.g.name, name, err)
	}
	return t.keep(ctx, name)
}

// keep copies the program to where it will run.
func (t *guestTree) keep(ctx context.Context, name string) (*layout, error) {
	dir := filepath.Join(t.b.out, "guests", "bin")
	if t.g.home {
		dir = filepath.Join(t.b.out, "guests", t.g.name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := &layout{path: filepath.Join(dir, t.g.name+"."+name)}
	if _, err := output(ctx, "", "cp", filepath.Join(t.dir, t.g.binary), l.path); err != nil {
		return nil, err
	}
	sections, err := output(ctx, "", "size", "-A", l.path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(sections) {
		if _, err := fmt.Sscanf(line, ".text %d", &l.text); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%s has no .text", l.path)
}
