package main

// strangerFiles are what the scripts of recorderStrangers work on.
var strangerFiles = map[string]string{
	"pypy.py": `import threading, re, signal, os
hits = []
signal.signal(signal.SIGUSR1, lambda *a: hits.append(1))
def work(n, out): out.append(sum(i * i % 7 for i in range(n)))
out = []
ts = [threading.Thread(target=work, args=(20000, out)) for _ in range(3)]
[t.start() for t in ts]; [t.join() for t in ts]
os.kill(os.getpid(), signal.SIGUSR1)
def deep(n): return deep(n + 1) + 1
try: deep(0)
except RecursionError: print("deep")
if os.fork() == 0: os._exit(3)
print(sorted(out), os.wait()[1], len(re.findall("7+", "717" * 99)), len(hits))
`,
	"wasm.js": `var s = 0; for (var i = 0; i < 30000; i++) { s += [i, i + 1].length + ("x" + i).length; }
function deep(n) { return deep(n + 1) + 1; }
try { deep(0); } catch (e) { print(e instanceof InternalError); }
var code = [0,97,115,109,1,0,0,0,1,6,1,96,1,127,1,127,3,2,1,0,5,3,1,0,1,7,5,1,1,102,0,0,10,9,1,7,0,32,0,40,2,0,11];
var f = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(code))).exports.f;
try { f(1 << 30); } catch (e) { print(e instanceof WebAssembly.RuntimeError); }
print(s, f(0), /a+/.exec("baaa")[0]);
`,
	"rhino.js": "var s = 0; for (var i = 0; i < 3000; i++) s += i % 7; print(s + ' ' + ['b', 'a'].sort());\n",
	"cl.lisp": `(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(defun deep (n) (+ 1 (deep (+ n 1))))
(princ (fib 17)) (terpri)
(princ (handler-case (deep 0) (error () 'deep) (storage-condition () 'deep))) (terpri)
(princ (length (loop for i below 20000 collect (list i)))) (terpri)
`,
	"chez.scm": `(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 22)) (newline)
(display (call/cc (lambda (k) (with-exception-handler (lambda (e) (k 'caught)) (lambda () (vector-ref (vector 1) 9)))))) (newline)
(collect) (display (length (map (lambda (i) (* i i)) (iota 20000)))) (newline)
`,
	"poly.sml": `fun fib n = if n < 2 then n else fib (n - 1) + fib (n - 2);
print (Int.toString (fib 20) ^ "\n");
print (Int.toString (length (List.tabulate (20000, fn i => (i, i)))) ^ "\n");
(raise Fail "x") handle Fail s => print (s ^ "\n");
`,
	"gp.pl":    ":- initialization(main).\nnrev([], []).\nnrev([H|T], R) :- nrev(T, S), append(S, [H], R).\nmain :- numlist(1, 300, L), nrev(L, [X|_]), write(X), nl, catch(atom_length(_, _), error(E, _), (write(E), nl)), halt.\nnumlist(N, N, [N]) :- !.\nnumlist(A, N, [A|T]) :- B is A + 1, numlist(B, N, T).\n",
	"pari.gp":  "print(factor(2^101 - 1)); f(n) = f(n + 1) + 1; iferr(f(0), E, print(errname(E))); print(sum(i = 1, 2000, i^3 % 7)); quit\n",
	"nvim.lua": "local s = 0 for i = 1, 30000 do s = s + #tostring(i) end io.write(s, ' ', vim.fn.join(vim.fn.sort({3, 1, 2}), ','), '\\n') vim.cmd('silent e words.txt | silent %s/word/W/ | silent w! nvim.out | qa!')\n",
	"d.d": `import std.stdio, core.thread, core.memory, std.algorithm, std.range;
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
void main() {
  int[3] out_; Thread[] ts;
  foreach (i; 0 .. 3) { ts ~= (int k) { return new Thread({ foreach (j; 0 .. 200) new int[999]; out_[k] = fib(15 + k); }); }(i); ts[$ - 1].start(); }
  foreach (t; ts) t.join();
  GC.collect();
  try { int[] v; int i = out_[0]; writeln(v[i]); } catch (Error e) writeln("range");
  auto f = new Fiber({ foreach (i; 0 .. 9) Fiber.yield(); }); foreach (i; 0 .. 5) f.call();
  writeln(out_, iota(2000).map!(x => x * 7919 % 1009).array.sort.front);
}
`,
	"E.java":    "public class E { int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); } }\n",
	"lp.mod":    "var x{1..30} >= 0, integer; maximize z: sum{i in 1..30} (i * 7 mod 11) * x[i]; s.t. c{j in 1..10}: sum{i in 1..30} (i * j mod 13) * x[i] <= 100 + j; solve; printf \"%g\\n\", z; end;\n",
	"apache.x":  "ServerName x\nMutex posixsem\nServerRoot ${PWD}\nPidFile ${PWD}/apache.pid\nListen 127.0.0.1:18971\nLoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\nErrorLog ${PWD}/apache.log\nDocumentRoot ${PWD}\nStartServers 2\n",
	"haproxy.x": "global\n  nbthread 2\n  stats socket haproxy.sock\ndefaults\n  mode http\n  timeout client 5s\n  timeout connect 5s\n  timeout server 5s\nfrontend f\n  bind unix@hap.sock\n  http-request return status 200 content-type text/plain string hello\n",
	"esb.ts":    "interface P { x: number } export const f = (p: P): string => `x${p.x}`; console.log(f({ x: 7 }));\n",
	"pico.l":    "(de fib (N) (if (> 2 N) N (+ (fib (dec N)) (fib (- N 2))))) (prinl (fib 18)) (prinl (length (make (for I 20000 (link I))))) (prinl (catch 'x (throw 'x 7))) (bye)\n",
}

const (
	askApache = `export PWD; ln -sf "$PWD" run; $RUN $(which apache2) -X -f "$PWD/apache.x" 2>apache.err & p=$!
for i in $(seq 300); do curl -s -o /dev/null http://127.0.0.1:18971/a.lua && break; sleep 0.1; done
for i in 1 2 3 4; do curl -s http://127.0.0.1:18971/words.txt | cksum; done; kill -TERM $p; wait $p; echo $?; cat apache.err >&2`
	askHaproxy = `$RUN haproxy -f haproxy.x 2>hap.err & p=$!
for i in $(seq 300); do test -S hap.sock && break; sleep 0.1; done
for i in 1 2 3 4 5; do curl -s --unix-socket hap.sock http://x/; done; kill -USR1 $p; wait $p; echo $?; cat hap.err >&2; rm -f hap.sock haproxy.sock`
	libjvm = `${RUN:+${RUN%--} --dso $(dirname $(readlink -f $(which java)))/../lib/server/libjvm.so --}`
)

// recorderStrangers are programs that were first run when the recorder stood.
var recorderStrangers = []recorderGuest{
	{"PyPy", "pypy3", "JIT, threads, signals, overflow of the stack", "$RUN $(readlink -f $(which pypy3)) pypy.py"},
	{"SpiderMonkey", "js102", "JIT, WebAssembly's faults, overflow", "$RUN js102 wasm.js"},
	{"QEMU", "qemu-x86_64", "JIT, its guest's signals", "$RUN qemu-x86_64 $(which mawk) '{ n[$2]++ } END { print length(n) }' words.txt"},
	{"Rhino", "rhino", "Java, libjvm recorded", libjvm + " java -cp /usr/share/java/js.jar:/usr/share/java/jline.jar org.mozilla.javascript.tools.shell.Main rhino.js"},
	{"Eclipse's compiler", "ecj", "Java, libjvm recorded", libjvm + " java -cp /usr/share/java/eclipse-jdt-core.jar org.eclipse.jdt.internal.compiler.batch.Main -17 -d . E.java; echo $?; cksum <E.class"},
	{"CLISP", "clisp", "faults of its collector, overflow", "$RUN /usr/lib/clisp*/base/lisp.run -M /usr/lib/clisp*/base/lispinit.mem -q -norc cl.lisp"},
	{"ECL", "ecl", "overflow of the stack, collector", "$RUN ecl --norc --shell cl.lisp"},
	{"Chez Scheme", "chezscheme", "compiler to memory", "$RUN chezscheme --script chez.scm"},
	{"Poly/ML", "poly", "compiler to memory, threads", "$RUN poly -q --script poly.sml"},
	{"GNU Prolog", "gprolog", "faults where its stacks end", "$RUN gprolog --consult-file gp.pl </dev/null | grep -v compiled"},
	{"PARI/GP", "gp", "overflow of the stack", "$RUN gp -q -f pari.gp"},
	{"ksh93", "ksh93", "shell: fork storm, signals", "$RUN ksh93 a.sh"},
	{"mksh", "mksh", "shell: fork storm, signals", "$RUN mksh a.sh"},
	{"Neovim", "nvim", "editor, LuaJIT, two processes", "$RUN nvim --headless -u NONE -i NONE -S nvim.lua; cksum <nvim.out"},
	{"D", "ldc2", "threads, collector by signals, fibers", "$RUN ./d.exe"},
	{"fd", "fdfind", "Rust, threads", "$RUN fdfind --no-config -j4 'a\\.[a-f]' . | sort"},
	{"bat", "batcat", "Rust, syntax by regular expressions", "$RUN batcat --no-config --color=always --paging=never -l py a.py | cksum"},
	{"hyperfine", "hyperfine", "Rust, starts others", "$RUN hyperfine --style none --runs 2 --export-json hf.json true >/dev/null; grep -c command hf.json"},
	{"esbuild", "esbuild", "Go, with the C library: stepped", "$RUN esbuild --loader=ts --minify <esb.ts"},
	{"Apache", "apache2", "server, threads", askApache},
	{"HAProxy", "haproxy", "server, threads", askHaproxy},
	{"GLPK", "glpsol", "solver", "$RUN glpsol -m lp.mod | grep -v -i -e time -e memory"},
	{"PicoLisp", "picolisp", "interpreter", "$RUN $(readlink -f $(which picolisp)) /usr/lib/picolisp/lib.l pico.l"},
	{"newLISP", "newlisp", "interpreter", "$RUN newlisp -n -e '(println (apply + (map (fn (x) (% (* x 7919) 1009)) (sequence 1 3000))))'"},
}
