package main

// recorderGuest is a program that is run plain and recorded. In its script $RUN stands in
// front of the program; what is printed is the answer.
type recorderGuest struct {
	name, program, kind, script string
}

// recorderFiles are what the scripts work on, with words.txt, which is made.
var recorderFiles = map[string]string{
	"a.lua": `local t = {} for i = 1, 20000 do t[i] = {i, tostring(i)} end
local s = 0 for k = 1, 10 do for i = 1, #t do s = s + t[i][1] % 7 + #t[i][2] end end
local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i) end end)
for i = 1, 500 do s = s + co() end
print(s, pcall(error, "thrown")) table.sort(t, function(a, b) return a[2] < b[2] end) print(t[77][2])`,
	"a.js": `var s = 0; for (var i = 0; i < 10000; i++) { var o = {a: i, b: "x" + i}; s += o.b.length + [i, i+1].length; }
var words = {}; for (var i = 0; i < 20000; i++) { var k = "k" + (i % 500); words[k] = (words[k] || 0) + 1; }
try { throw new Error("thrown"); } catch (e) { s += e.message.length; }
(typeof print === "function" ? print : console.log)(s + " " + words.k7 + " " + /a+/.exec("baaa")[0]);`,
	"worker.js": `const { Worker, isMainThread, parentPort } = require("worker_threads");
if (isMainThread) { let n = 0, sum = 0; for (let i = 0; i < 3; i++) new Worker(__filename).on("message", m => { sum += m; if (++n === 3) console.log(sum); }); }
else { let s = 0; for (let i = 0; i < 200000; i++) s += i % 7; parentPort.postMessage(s); }`,
	"a.py": `import threading, signal, os, json, re
hits = []
signal.signal(signal.SIGUSR1, lambda *a: hits.append(1))
for i in range(50): os.kill(os.getpid(), signal.SIGUSR1)
def f(out, n): out.append(sum(i * i % 7 for i in range(n)))
out = []
ts = [threading.Thread(target=f, args=(out, 20000)) for _ in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
pids = [os.fork() for _ in range(3)]
if 0 in pids: os._exit(0)
[os.waitpid(p, 0) for p in pids]
words = {}
for line in open("words.txt"): words[line.split()[1]] = words.get(line.split()[1], 0) + 1
print(len(hits) > 0, sorted(out), len(words), len(json.dumps(words)), len(re.findall("7+", json.dumps(words))))`,
	"a.pl": `my %w; open F, "words.txt"; while (<F>) { /(\w+)\s+(\w+)/ and $w{$2}++ } print scalar(keys %w), "\n";
$SIG{USR1} = sub { $n++ }; kill USR1 => $$ for 1..50; print "signals\n" if $n;
for (1..10) { my $p = fork; exit $_ unless $p; waitpid $p, 0; $s += $? >> 8 } print "$s\n"; print join(",", (sort { $a <=> $b } map { $_ * 7919 % 1009 } 1..5000)[1..5]), "\n";`,
	"a.rb": `h = Hash.new(0); File.foreach("words.txt") { |l| h[l.split[1]] += 1 }; puts h.size
puts 4.times.map { |i| Thread.new { (1..5000).sum { |x| x * i % 7 } } }.map(&:value).inspect
begin; def r(n) = r(n + 1); r(0); rescue SystemStackError; puts "deep"; end
f = Fiber.new { 100.times { |i| Fiber.yield i } }; puts 50.times.sum { f.resume }; puts (1..3000).map { |x| (x * 7919 % 1009).to_s }.sort[7]`,
	"a.php": `<?php $w = []; foreach (file("words.txt") as $l) { $k = explode(" ", $l)[1]; $w[$k] = ($w[$k] ?? 0) + 1; } ksort($w); echo count($w), " ", key($w), "\n";
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); } echo fib(20), " ", md5(json_encode($w)), "\n";`,
	"a.scm": `(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 20)) (newline)
(display (call/cc (lambda (k) (for-each (lambda (x) (if (> x 3) (k x))) '(1 2 3 4 5)) 0))) (newline)`,
	"a.lisp": `(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (print (fib 22)) (terpri)
(print (handler-case (error "x") (error () 7))) (print (length (loop for i below 20000 collect (format nil "~a" i)))) (gc :full t) (print 1)`,
	"a.swi":  `:- X = 1000, numlist(1, X, L), foldl([A,B,C]>>(C is A+B), L, 0, S), writeln(S), catch(throw(t), t, writeln(caught)), halt.`,
	"a.tcl":  `set s 0; for {set i 0} {$i < 20000} {incr i} { incr s [expr {$i % 7}]; lappend l x$i }; puts "$s [llength $l] [lindex [lsort $l] 77]"; puts [catch {error thrown}]; coroutine c apply {{} {yield; foreach x {1 2 3} {yield $x}}}; puts [c]`,
	"a.c":    "#include <stdio.h>\n#include <string.h>\nstatic int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nint main(void) { printf(\"%d\\n\", f(15)); return 3; }\n",
	"a.asm":  "global f\nsection .text\nf: mov eax, 1\nadd eax, edi\nret\n%rep 2000\nnop\n%endrep\n",
	"a.y":    "%token N\n%%\ne: e '+' N | N ;\n%%\n",
	"a.l":    "%%\n[0-9]+ { return 1; }\n[a-z]+ { return 2; }\n%%\n",
	"a.m4":   "define(`f', `ifelse($1, 0, 0, `eval($1 + f(decr($1)))')')f(60)\n",
	"a.dot":  "digraph g { a -> b -> c; b -> d; d -> a; c -> e; e -> f; f -> b }\n",
	"a.plot": "set terminal svg; set output 'plot.svg'; plot sin(x)*x, cos(x)\n",
	"a.bc":   "define f(n) { if (n < 2) return (n); return (f(n-1) + f(n-2)); }\nf(16)\nscale=200\n4*a(1)\n",
	"a.sh":   "i=0; while [ $i -lt 60 ]; do (exit $i); s=$((s + $?)); x=$(echo $i | tr 0-9 a-j); i=$((i + 1)); done; echo $s $x; trap 'echo usr' USR1; kill -USR1 $$; for i in 1 2 3 4; do (sleep 0; exit $i) & done; wait; echo done\n",
	"a.exp":  "spawn -noecho cat\nexpect_after timeout {exit 2}\nsend hello\\r\nexpect hello\nsend \\004\nexpect eof\nputs ended\n",
	"a.el":   "(princ (format \"%s\\n\" (let ((s 0)) (dotimes (i 20000) (setq s (+ s (% i 7)))) s)))(with-temp-buffer (insert-file-contents \"words.txt\") (princ (format \"%d %d\\n\" (count-lines (point-min) (point-max)) (how-many \"word1\" (point-min)))))",
	"a.vim":  ":e words.txt\n:%s/word\\([0-9]*\\)/\\1w/\n:g/^1/d\n:w! vim.out\n:q!\n",
	"A.java": `import java.util.*;
public class A {
  static int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }
  static int deep(int n) { return deep(n+1) + 1; }
  public static void main(String[] a) throws Exception {
    Map<String,Integer> w = new TreeMap<>();
    for (int i = 0; i < 20000; i++) w.merge("k" + i % 503, 1, Integer::sum);
    Thread[] ts = new Thread[4]; int[] out = new int[4];
    for (int i = 0; i < 4; i++) { int k = i; ts[i] = new Thread(() -> out[k] = fib(15 + k)); ts[i].start(); }
    for (Thread t : ts) t.join();
    try { deep(0); } catch (StackOverflowError e) { System.out.println("deep"); }
    try { Object o = null; o.hashCode(); } catch (NullPointerException e) { System.out.println("null"); }
    System.gc();
    System.out.println(w.size() + " " + w.get("k7") + " " + Arrays.toString(out));
  }
}`,
	"a.go": `package main
import ("fmt"; "os"; "os/signal"; "syscall")
func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	d := make(chan int)
	go func() { defer func() { recover(); d <- 7 }(); var p *int; *p = 1 }()
	fmt.Println(<-c, <-d)
}`,
	"a.rs": `use std::collections::BTreeMap; use std::thread;
fn fib(n: u32) -> u32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }
fn main() {
    let n = if std::env::args().count() > 1 { 3 } else { 15 }; let mut w = BTreeMap::new();
    for i in 0..n * 1000 { *w.entry(format!("k{}", i % 503)).or_insert(0) += 1; if n == 3 && i == 90 { break; } }
    let ts: Vec<_> = (0..3).map(|i| thread::spawn(move || fib(n + i))).collect();
    let out: Vec<u32> = ts.into_iter().map(|t| t.join().unwrap()).collect();
    if n == 15 { println!("{:?}", std::panic::catch_unwind(|| { let v: Vec<i32> = vec![]; v[out.len()] }).is_err()); }
    println!("{} {:?}", w.len(), out);
}`,
	"a.ml": `let rec fib n = if n < 2 then n else fib (n-1) + fib (n-2)
exception E
let rec deep n = 1 + deep (n+1)
let () = Printf.printf "%d %b %b\n" (fib 20) (try raise E with E -> true) (try deep 0 = 0 with Stack_overflow -> true)
let () = let h = Hashtbl.create 7 in for i = 0 to 20000 do Hashtbl.replace h (string_of_int (i mod 503)) i done; print_int (Hashtbl.length h)`,
	"a.R": `x <- sapply(1:3000, function(i) (i * 7919) %% 1009); print(summary(x)); print(tryCatch(stop("e"), error=function(e) "caught")); print(sum(sort(x)[1:50])); f <- function(n) f(n+1); print(tryCatch(f(0), error=function(e) "deep"))
`,
	"a.fs": ": fib dup 2 < if else dup 1- recurse swap 2 - recurse + then ; 20 fib . cr : e 1 throw ; ' e catch . cr bye\n",
	"a.pas": `{$mode objfpc} program a; uses sysutils; function fib(n: integer): integer; begin if n < 2 then fib := n else fib := fib(n-1) + fib(n-2) end;
var p: ^integer; begin writeln(fib(20)); try p := nil; p^ := 1 except on e: exception do writeln(e.classname) end end.
`,
	"a.cs": `using System; using System.Threading; class A { static int F(int n) { return n < 2 ? n : F(n-1)+F(n-2); } static void Main() {
int[] o = new int[3]; Thread[] t = new Thread[3]; for (int i=0;i<3;i++){int k=i;t[i]=new Thread(()=>{o[k]=F(15+k);});t[i].Start();} foreach (var x in t) x.Join();
try { string s=null; Console.WriteLine(s.Length); } catch (NullReferenceException) { Console.WriteLine("null"); } GC.Collect(); Console.WriteLine(o[0]+o[1]+o[2]); } }`,
	"a.v":   "module t; integer i, s; initial begin s = 0; for (i = 0; i < 20000; i = i + 1) s = s + i % 7; $display(\"%d\", s); $finish; end endmodule\n",
	"a.cob": "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. A.\n       DATA DIVISION.\n       WORKING-STORAGE SECTION.\n       01 I PIC 9(6) VALUE 0.\n       01 S PIC 9(9) VALUE 0.\n       PROCEDURE DIVISION.\n           PERFORM 3000 TIMES\n             ADD 1 TO I\n             ADD I TO S\n           END-PERFORM\n           DISPLAY S\n           STOP RUN.\n",
	"a.smt": "(declare-const x Int)(declare-const y Int)(assert (and (> x 3) (< y 17) (= (* x y) 91)))(check-sat)(get-model)\n",
	"a.pov": "camera { location <0,1,-3> look_at 0 } light_source { <2,4,-3> rgb 1 } sphere { 0, 1 pigment { rgb <1,0,0> } }\n",
	"a.ps":  "%!\n/f { dup 2 lt {} { dup 1 sub f exch 2 sub f add } ifelse } def 18 f == 100 100 moveto 200 200 lineto stroke showpage\n",
	"a.ys":  "read_verilog a.v2; proc; opt; stat\n",
	"a.v2":  "module c(input clk, input [3:0] a, output reg [3:0] q); always @(posedge clk) q <= q + a; endmodule\n",
	"a.cnf": "p cnf 3 3\n1 -2 0\n2 3 0\n-1 -3 0\n",
	"lh.x":  "server.document-root = env.PWD\nserver.bind = env.PWD + \"/lh.sock\"\nserver.modules = ()\n",
	"mc.py": `import socket
s = socket.socket(socket.AF_UNIX); s.connect("mc.sock"); f = s.makefile("rwb"); n = 0
for i in range(300):
    f.write(b"set k%d 0 0 5\r\nabcde\r\n" % i); f.flush(); n += f.readline() == b"STORED\r\n"
    f.write(b"get k%d\r\n" % i); f.flush(); f.readline(); n += f.readline() == b"abcde\r\n"; f.readline()
print(n)`,
	"nginx.x":  "daemon off; master_process on; worker_processes 2; pid nginx.pid; error_log stderr error; events {} http { access_log off; server { listen unix:nginx.sock; location / { return 200 \"hello\\n\"; } } }\n",
	"Makefile": "all: a b c\na b c: words.txt\n\t@wc -l < words.txt > $@.made; cat $@.made\n",
}

// Servers are asked, and told to end.
const (
	askRedis = `$RUN redis-server --port 0 --unixsocket redis.sock --save '' --dir . >redis.log & p=$!
for i in $(seq 300); do redis-cli -s redis.sock ping >/dev/null 2>&1 && break; sleep 0.1; done
for i in 1 2 3; do redis-cli -s redis.sock eval "for i=1,3000 do redis.call('rpush', KEYS[1], i % 7) redis.call('hset', 'h', i, i) end return redis.call('llen', KEYS[1])" 1 l$i; done
redis-cli -s redis.sock sort l1 limit 0 3; redis-cli -s redis.sock shutdown nosave; wait $p; echo $?`
	askNginx = `ln -sf "$PWD" run; $RUN $(which nginx) -p "$PWD/" -c nginx.x 2>nginx.err & p=$!
for i in $(seq 300); do test -S nginx.sock && break; sleep 0.1; done
for i in 1 2 3 4 5 6 7 8; do curl -s --unix-socket nginx.sock http://x/$i; done; kill -QUIT $(cat nginx.pid); wait $p; echo $?; cat nginx.err >&2; rm -f nginx.sock`
	askMemcached = `$RUN memcached -u root -s mc.sock -a 0777 -t 4 2>mc.err & p=$!
for i in $(seq 300); do test -S mc.sock && break; sleep 0.1; done
python3 mc.py; kill -TERM $p; wait $p; echo $?; cat mc.err >&2; rm -f mc.sock`
	askLighttpd = `ln -sf "$PWD" run; $RUN lighttpd -D -f lh.x 2>lh.err & p=$!
for i in $(seq 300); do test -S lh.sock && break; sleep 0.1; done
for i in 1 2 3 4 5; do curl -s --unix-socket lh.sock http://x/words.txt | cksum; done; kill -TERM $p; wait $p; echo $?; cat lh.err >&2; rm -f lh.sock`
	// A server does not run as root. Its libraries are copied for a user who may not read ours.
	askPostgres = `bin=$(ls -d /usr/lib/postgresql/*/bin | head -n 1); d=$(mktemp -d); as=; [ $(id -u) = 0 ] && chown postgres $d && as="setpriv --reuid postgres --regid postgres --clear-groups env HOME=$d"
if [ -n "$RUN" ]; then cp ${RUN%% *} $d/cairn; RUN="$d/cairn ${RUN#* }"; RUN="${RUN%-o*}-o $d/pg.perf --"; fi
cd $d; $as $bin/initdb -D $d/data -A trust >/dev/null 2>&1
$as $RUN $bin/postgres -D $d/data -k $d -c listen_addresses= -c fsync=off 2>pg.err & p=$!
for i in $(seq 300); do $as $bin/pg_isready -q -h $d && break; sleep 0.1; done
$as $bin/psql -h $d -At -c "create table t as select i, i*7919%1009 as b from generate_series(1,20000) i" -c "select sum(b) from t" -c "select count(*) from t a join t b using (i) where a.b<100" postgres
kill -TERM $p; wait $p; echo $?; cat pg.err >&2; cd /; rm -rf $d`
	tmuxHello = `$RUN tmux -L t$$ -f /dev/null new-session -d -x 40 -y 10 "sh -c 'echo hello; echo world; read x'"
for i in $(seq 300); do tmux -L t$$ capture-pane -p | grep -q world && break; sleep 0.1; done; tmux -L t$$ capture-pane -p | head -n 2; tmux -L t$$ kill-server; echo $?`
	askErlang = `export ROOTDIR=$(dirname $(dirname $(ls -d /usr/lib/erlang/erts-*/bin))) BINDIR=$(ls -d /usr/lib/erlang/erts-*/bin) EMU=beam PROGNAME=erl
$RUN $BINDIR/beam.smp -- -root $ROOTDIR -bindir $BINDIR -progname erl -home /tmp -noshell -eval 'P=self(), F=fun G(N) -> if N < 2 -> N; true -> G(N-1)+G(N-2) end end, [spawn(fun()-> P!{I,F(15)} end)||I<-[1,2,3]], L=[receive {J,X}->{J,X} end||J<-[1,2,3]], io:format("~p ~p~n",[L, catch throw(x)]), halt().'
echo $?`
	failErlang = `export ROOTDIR=$(dirname $(dirname $(ls -d /usr/lib/erlang/erts-*/bin))) BINDIR=$(ls -d /usr/lib/erlang/erts-*/bin) EMU=beam PROGNAME=erl
$RUN $BINDIR/beam.smp -- -root $ROOTDIR -progname erl -home /tmp -noshell; echo $?; rm -f erl_crash.dump`
)

// recorderPrepares are the commands that make what guests run, which are not measured.
var recorderPrepares = map[string]string{
	"D":              "ldc2 -O -of=d.exe d.d",
	"Free Pascal":    "fpc -v0 -oa.pas.exe a.pas >fpc.log 2>&1",
	"GnuCOBOL":       "cobc -x -o a.cob.exe a.cob",
	"Go":             "go build -o a.go.exe a.go",
	"Icarus Verilog": "iverilog -o a.vvp a.v",
	"Java":           "javac A.java",
	"Java, libjvm":   "javac A.java",
	"Mono":           "mcs -out:a.cs.exe a.cs",
	"OCaml, native":  "ocamlopt -o a.ml.exe a.ml 2>/dev/null",
	"Rust":           "rustc -O -o a.rs.exe a.rs",
	"Rust, static":   "rustc -O -C target-feature=+crt-static -o a.rs.exe a.rs",
}

var recorderGuests = []recorderGuest{
	{"Node.js", "node", "JIT, threads", "$RUN node a.js"},
	{"Node.js workers", "node", "JIT, threads", "$RUN node worker.js"},
	{"Java", "javac", "JIT, threads, overflow of the stack, faults", "$RUN java -cp . A"},
	{"Java, libjvm", "javac", "the same, with what it loads recorded", "${RUN:+${RUN%--} --dso $(dirname $(readlink -f $(which java)))/../lib/server/libjvm.so --} java -cp . A"},
	{"LuaJIT", "luajit", "JIT", "$RUN luajit a.lua"},
	{"MuJS", "mujs", "interpreter", "$RUN mujs a.js"},
	{"Lua 5.4", "lua5.4", "interpreter", "$RUN lua5.4 a.lua"},
	{"Python 3", "/usr/bin/python3", "interpreter, threads, signals, forks", "$RUN $(readlink -f /usr/bin/python3) a.py"},
	{"Perl", "perl", "interpreter, signals, forks", "$RUN perl a.pl"},
	{"Ruby", "ruby", "interpreter, threads, overflow of the stack", "$RUN $(readlink -f $(which ruby)) a.rb"},
	{"PHP", "php", "interpreter", "$RUN $(readlink -f $(which php)) a.php"},
	{"Guile", "guile", "JIT", "GUILE_AUTO_COMPILE=0 $RUN $(readlink -f $(which guile)) -s a.scm"},
	{"SBCL", "sbcl", "compiler to memory, faults of its collector", "$RUN sbcl --script a.lisp"},
	{"SWI-Prolog", "swipl", "interpreter", "$RUN $(readlink -f $(which swipl)) a.swi </dev/null"},
	{"Tcl", "tclsh", "interpreter", "$RUN $(readlink -f $(which tclsh)) a.tcl"},
	{"Expect", "expect", "terminals, forks", "$RUN expect a.exp"},
	{"gawk", "gawk", "interpreter", "$RUN gawk '{ n[$2]++; s += length($3) } END { print length(n), s }' words.txt"},
	{"mawk", "mawk", "interpreter", "$RUN mawk '{ n[$2]++; s += length($3) } END { print length(n), s }' words.txt"},
	{"bc", "bc", "interpreter", "$RUN bc -lq a.bc"},
	{"dc", "dc", "interpreter", "$RUN dc -e '2 3000 ^ p 7 / p'"},
	{"jq", "jq", "interpreter", "$RUN jq -nc '[range(3000) | {a: ., b: tostring}] | map(select(.a % 7 == 0)) | length, (map(.b) | sort)[5]'"},
	{"SQLite", "sqlite3", "database", "$RUN sqlite3 :memory: 'create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<20000) insert into t select x, x*7919%1009 from c; create index i on t(b); select count(*), sum(a) from t where b between 5 and 99; select group_concat(b) from (select b from t order by b, a limit 5);'"},
	{"cc1", "gcc", "compiler", "gcc -E a.c -o a.i && $RUN $(gcc -print-prog-name=cc1) -quiet -fpreprocessed -O2 a.i -o a.s && cksum <a.s"},
	{"gcc", "gcc", "starts others (vfork)", "$RUN gcc -O1 -o a.exe a.c && ./a.exe; echo $?"},
	{"TinyCC", "tcc", "compiler, runs what it made", "$RUN tcc -run a.c; echo $?"},
	{"as", "as", "assembler", "gcc -O2 -S -o a.s a.c && $RUN as -o a.o a.s && cksum <a.o"},
	{"ld", "ld", "linker", "gcc -c -o a.o a.c && $RUN ld -r -o b.o a.o && cksum <b.o"},
	{"NASM", "nasm", "assembler", "$RUN nasm -f elf64 -o n.o a.asm && cksum <n.o"},
	{"GNU m4", "m4", "macro processor; recovers from overflow", "$RUN m4 a.m4"},
	{"Bison", "bison", "compiler", "$RUN bison -o y.c a.y && cksum <y.c"},
	{"flex", "flex", "compiler", "$RUN flex -o l.c a.l && cksum <l.c"},
	{"Graphviz", "dot", "layout", "$RUN dot -Tplain a.dot"},
	{"gnuplot", "gnuplot", "plots", "$RUN $(readlink -f $(which gnuplot)) a.plot && cksum <plot.svg"},
	{"zstd", "zstd", "threads", "$RUN zstd -q -T4 -9 -c words.txt | cksum"},
	{"xz", "xz", "threads", "$RUN xz -T4 -3 -c words.txt | cksum"},
	{"pigz", "pigz", "threads", "$RUN pigz -p4 -n -c words.txt | cksum"},
	{"OpenSSL", "openssl", "assembly", "$RUN openssl enc -aes-256-ctr -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff -iv 00112233445566778899aabbccddeeff -in words.txt | cksum"},
	{"Redis", "redis-server", "server, threads", askRedis},
	{"nginx", "nginx", "server, forks, signals", askNginx},
	{"curl", "curl", "client, threads", "$RUN curl -s file://$PWD/words.txt | cksum"},
	{"bash", "bash", "shell: fork storm, signals", "$RUN bash a.sh"},
	{"dash", "dash", "shell: fork storm, signals", "$RUN dash a.sh"},
	{"zsh", "zsh", "shell: fork storm, signals", "$RUN zsh -f a.sh"},
	{"make", "make", "starts others (vfork)", "$RUN make -s -j3 all"},
	{"sort", "sort", "threads", "$RUN sort --parallel=4 -k2 words.txt | cksum"},
	{"Git", "git", "starts others, maps files", "$RUN git diff --no-index --stat words.txt a.lua | tail -n 1"},
	{"Vim", "vim.tiny", "editor, stack for signals", "$RUN vim.tiny -es -u NONE -s a.vim </dev/null; cksum <vim.out"},
	{"Emacs", "emacs", "editor, recovers from overflow", "$RUN $(readlink -f $(which emacs)) --batch -Q -l a.el"},
	{"ed", "ed", "editor", "printf 'g/word7/s/word/W/\\n1,$p\\nQ\\n' | $RUN ed -s words.txt | cksum"},
	{"BusyBox", "busybox", "linked statically: stepped", "$RUN busybox expr 6 '*' 7"},
	{"Go", "go", "linked statically, threads, faults: stepped", "$RUN ./a.go.exe"},
	{"fzf", "fzf", "Go, with the C library: stepped", "head -n 20 words.txt | $RUN fzf -f word1"},
	{"Rust", "rustc", "threads, unwinding", "$RUN ./a.rs.exe"},
	{"Rust, static", "rustc", "linked statically, threads: stepped", "$RUN ./a.rs.exe less"},
	{"ripgrep", "rg", "Rust, threads", "$RUN rg -j4 --sort path -n fib a.rs a.ml a.cs A.java; $RUN rg -c 'word7.*3' words.txt"},
	{"OCaml", "ocamlrun", "interpreter, recovers from overflow", "$RUN ocamlrun $(which ocaml) a.ml"},
	{"OCaml, native", "ocamlopt", "its own frames and exceptions", "$RUN ./a.ml.exe; echo $?"},
	{"Erlang", "erl", "JIT, threads", askErlang},
	{"Erlang fails", "erl", "its own sigaction", failErlang},
	{"R", "R", "interpreter, recovers from overflow", "R_HOME=$(R RHOME) LD_LIBRARY_PATH=$(R RHOME)/lib $RUN $(R RHOME)/bin/exec/R --no-echo --no-restore --vanilla --file=a.R"},
	{"ShellCheck", "shellcheck", "Haskell: data between its code", "printf 'x=$1\\necho $x\\n' > sc.sh; $RUN shellcheck -s sh -f gcc sc.sh"},
	{"Mono", "mono", "JIT, threads, faults", "$RUN mono a.cs.exe"},
	{"Racket", "racket", "compiler to memory", "$RUN racket -e '(display (for/sum ((i 10000)) (modulo i 7)))'"},
	{"Gambit", "gsi", "interpreter, signals", "$RUN gsi -e '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 18))'"},
	{"Chicken", "csi", "moves its stack", "$RUN csi -e '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 18))'"},
	{"Gforth", "gforth", "computed jumps", "$RUN gforth a.fs"},
	{"Free Pascal", "fpc", "no C library: stepped", "$RUN ./a.pas.exe"},
	{"GnuCOBOL", "cobc", "compiled program", "$RUN ./a.cob.exe"},
	{"Icarus Verilog", "vvp", "simulator", "$RUN vvp a.vvp"},
	{"Yosys", "yosys", "compiler", "$RUN yosys -q -s a.ys -l yosys.log; grep -c cells yosys.log"},
	{"Z3", "z3", "solver", "$RUN z3 a.smt"},
	{"MiniSat", "minisat", "solver", "$RUN minisat -verb=0 a.cnf out.cnf >minisat.log; cat out.cnf"},
	{"Ghostscript", "gs", "interpreter", "$RUN gs -q -dNOSAFER -sDEVICE=pbmraw -o out.pbm a.ps; cksum <out.pbm"},
	{"ImageMagick", "convert-im6.q16", "OpenMP", "$RUN $(which convert-im6.q16) -size 120x100 gradient:red-blue -rotate 30 -resize 50 txt:- | cksum"},
	{"FFmpeg", "ffmpeg", "threads, 210 libraries", "$RUN ffmpeg -v error -f lavfi -i testsrc=size=160x120:rate=10:duration=1 -f rawvideo -pix_fmt gray -threads 2 - </dev/null | cksum"},
	{"POV-Ray", "povray", "threads", "$RUN povray +W80 +H60 +Ia.pov +Oa.ppm +FP -D >povray.log 2>&1; grep cairn: povray.log >&2; wc -c <a.ppm"},
	{"groff", "groff", "starts others", "$RUN groff -man -Tascii <<<'.TH A 1' | head -n 3"},
	{"troff", "groff", "typesetter", "printf '.TH A 1\\n.SH NAME\\na \\\\- b\\n' | $RUN troff -man -Tascii | cksum"},
	{"GDB", "gdb", "traces; its child runs plain", "$RUN gdb -nx -batch -ex 'break sum' -ex 'info sharedlibrary' -ex run --args $(which true) | grep -c normally"},
	{"rsync", "rsync", "three processes", "rm -rf copy; $RUN rsync -a words.txt a.lua copy/ && cat copy/* | cksum"},
	{"PostgreSQL", "pg_ctlcluster", "server, forks, shared memory", askPostgres},
	{"memcached", "memcached", "server, threads", askMemcached},
	{"lighttpd", "lighttpd", "server", askLighttpd},
	{"tmux", "tmux", "terminals, server that goes into the background", tmuxHello},
	{"Nim", "nim", "compiler", "printf 'echo 6*7\\n' > an.nim; $RUN nim c --hints:off --nimcache:nimc --compileOnly an.nim; grep -c NIM nimc/*an.nim.c"},
	{"units", "units", "calculator", "$RUN units '3 miles' km"},
}
