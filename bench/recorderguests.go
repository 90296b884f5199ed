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
	"a.swi":    `:- X = 1000, numlist(1, X, L), foldl([A,B,C]>>(C is A+B), L, 0, S), writeln(S), catch(throw(t), t, writeln(caught)), halt.`,
	"a.tcl":    `set s 0; for {set i 0} {$i < 20000} {incr i} { incr s [expr {$i % 7}]; lappend l x$i }; puts "$s [llength $l] [lindex [lsort $l] 77]"; puts [catch {error thrown}]; coroutine c apply {{} {yield; foreach x {1 2 3} {yield $x}}}; puts [c]`,
	"a.c":      "#include <stdio.h>\n#include <string.h>\nstatic int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nint main(void) { printf(\"%d\\n\", f(15)); return 3; }\n",
	"a.asm":    "global f\nsection .text\nf: mov eax, 1\nadd eax, edi\nret\n%rep 2000\nnop\n%endrep\n",
	"a.y":      "%token N\n%%\ne: e '+' N | N ;\n%%\n",
	"a.l":      "%%\n[0-9]+ { return 1; }\n[a-z]+ { return 2; }\n%%\n",
	"a.m4":     "define(`f', `ifelse($1, 0, 0, `eval($1 + f(decr($1)))')')f(60)\n",
	"a.dot":    "digraph g { a -> b -> c; b -> d; d -> a; c -> e; e -> f; f -> b }\n",
	"a.plot":   "set terminal svg; set output 'plot.svg'; plot sin(x)*x, cos(x)\n",
	"a.bc":     "define f(n) { if (n < 2) return (n); return (f(n-1) + f(n-2)); }\nf(16)\nscale=200\n4*a(1)\n",
	"a.sh":     "i=0; while [ $i -lt 60 ]; do (exit $i); s=$((s + $?)); x=$(echo $i | tr 0-9 a-j); i=$((i + 1)); done; echo $s $x; trap 'echo usr' USR1; kill -USR1 $$; for i in 1 2 3 4; do (sleep 0; exit $i) & done; wait; echo done\n",
	"a.exp":    "spawn -noecho cat\nexpect_after timeout {exit 2}\nsend hello\\r\nexpect hello\nsend \\004\nexpect eof\nputs ended\n",
	"a.el":     "(princ (format \"%s\\n\" (let ((s 0)) (dotimes (i 20000) (setq s (+ s (% i 7)))) s)))(with-temp-buffer (insert-file-contents \"words.txt\") (princ (format \"%d %d\\n\" (count-lines (point-min) (point-max)) (how-many \"word1\" (point-min)))))",
	"a.vim":    ":e words.txt\n:%s/word\\([0-9]*\\)/\\1w/\n:g/^1/d\n:w! vim.out\n:q!\n",
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
)

var recorderGuests = []recorderGuest{
	{"Node.js", "node", "JIT, threads", "$RUN node a.js"},
	{"Node.js workers", "node", "JIT, threads", "$RUN node worker.js"},
	{"Java", "java", "JIT, threads, faults", "$RUN java -XshowSettings:properties -version 2>java.err; grep -c 'java.*version' java.err; cat java.err >&2"},
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
}
