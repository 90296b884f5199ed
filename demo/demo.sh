#!/bin/bash
# demo.sh: instruments SQLite, runs three scenarios, shows what they did, builds SQLite
# by that profile, traces every call, finds the call that stalls a program, restores the
# stacks of samples, collects runs from a fleet, times the goroutines of a Go program, and
# writes one report of it all.
# Run it with `make demo`. Everything it makes is in demo/out.
set -euo pipefail
cd "$(dirname "$0")/.."
repo=$PWD
out=$repo/demo/out

rm -rf "$out"
mkdir -p "$out"
cd "$out"
export CAIRN_CACHE=$out/cache
unset CAIRN_DIR CAIRN_CONTINUOUS CAIRN_SIGNAL CAIRN_SCENARIO CAIRN_SPIKE CAIRN_TRACE
cairn() { "$repo/cairn" "$@"; }

bold= dim= green= red= off=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' off=$'\e[0m'
fi

step=0
# section TITLE EXPLANATION starts a numbered part.
section() {
  step=$((step + 1))
  printf '\n%s%d. %s%s\n%s\n\n' "$bold" "$step" "$1" "$off" "$2"
}
# shown COMMAND prints a command as one would type it.
shown() { printf '  %s$ %s%s\n' "$dim" "$1" "$off"; }
# run COMMAND prints it and runs it, its output indented.
run() {
  shown "$1"
  eval "$1" 2>&1 | sed 's/^/  /'
}
elapsed() { awk -v ms=$((($(date +%s%N) - $1) / 1000000)) 'BEGIN { printf "%.1f s", ms / 1000 }'; }

begin=$(date +%s%N)
echo "${bold}cairn${off} profiles SQLite. All commands run in demo/out; at the end there is a report to open."

# ---------------------------------------------------------------------------
"$repo/scripts/sqlite.sh" .
cp "$repo"/demo/shell.c "$repo"/demo/*.sql .

section "Build" \
  "The same gcc and flags, without and with cairn. Both are built at the same time."
flags="-O1 -g -w"
shown "gcc $flags -o plain shell.c sqlite3.c -lm"
shown "cairn cc --mode full gcc $flags -o shell shell.c sqlite3.c -lm"
(
  t=$(date +%s%N)
  gcc $flags -o plain shell.c sqlite3.c -lm
  elapsed "$t" >plain.time
) &
t=$(date +%s%N)
cairn cc --mode full gcc $flags -o shell shell.c sqlite3.c -lm
elapsed "$t" >shell.time
wait %1
strip -o plain.stripped plain
strip -o shell.stripped shell
size_row() {
  size "$1" | awk -v name="$2" -v file="$(stat -c %s "$1")" -v time="$(cat "$2.time")" \
    'NR == 2 { printf "  %-8s %12d %12d %14d   %s\n", name, $1, $2 + $3, file, time }'
}
printf '\n  %-8s %12s %12s %14s   %s\n' "" "code, bytes" "data, bytes" "stripped file" "build"
size_row plain.stripped plain
size_row shell.stripped shell
echo "  Mode full records most and costs most. docs/costs.md has the cost of the others."

section "Run" \
  "Three runs, each with a name. Each writes a raw file when it exits."
mkdir raws
for scenario in load query vacuum; do
  run "CAIRN_SCENARIO=$scenario CAIRN_DIR=raws/$scenario ./shell weather.db $scenario.sql"
  [ $scenario != load ] || cp weather.db loaded.db
done

section "Merge" \
  "The raw files and the map in the program become one profile."
run "cairn merge -o all.mip shell raws"
for scenario in load query vacuum; do
  cairn merge -o $scenario.mip shell raws/$scenario 2>/dev/null
done
echo
run "cairn info all.mip"

section "The hottest functions" \
  "Calls are counted, not sampled, so the counts are exact."
shown "cairn show all.mip --sort calls --limit 10"
cairn show all.mip --sort calls --limit 10 --color never | awk '
  BEGIN { row = "  %12s  %8s  %12s   %s\n"; printf row, "calls", "runs", "blocks run", "function" }
  function flush() { if (name != "") printf row, calls, runs, blocks, name }
  /^[^ ]/ { flush(); name = $0 }
  sub(/^ *Call Count: /, "") { calls = $0 }
  sub(/^ *Runs: /, "") { runs = $0 }
  sub(/^ *Block Coverage: /, "") { blocks = $0 }
  END { flush() }'

section "Coverage" \
  "The lines that ran, by the blocks of the optimised code. SQLite's abs(), called by load.sql:"
run "cairn covered all.mip shell -o all.info"
echo
awk -v name=absFunc -v plus="$green" -v minus="$red" -v off="$off" '
  FNR == NR {
    if (/^SF:/) mine = /sqlite3\.c$/
    else if (mine && /^DA:/) { split(substr($0, 4), v, ","); ran[v[1]] = v[2] }
    next
  }
  index($0, " " name "(") && !/;$/ { on = 1 }
  !on { next }
  /^ *(\/\*|\*\*|\*\/)/ { next }
  {
    mark = "  "; color = ""
    if (FNR in ran) { mark = ran[FNR] > 0 ? "+ " : "- "; color = ran[FNR] > 0 ? plus : minus }
    printf "  %s%s%6d  %s%s\n", color, mark, FNR, $0, color == "" ? "" : off
  }
  /^}/ { exit }' all.info sqlite3.c
echo "  + ran   - did not run: no script calls abs() of a real number, of NULL or of the smallest integer"

section "First executions" \
  "The functions of query.sql in the order in which they first ran."
shown "cairn order query.mip --algorithm first -o query.order"
cairn order query.mip --algorithm first -o query.order >/dev/null 2>&1
awk 'NR <= 15 { name[NR] = $0 }
  END { for (i = 1; i <= 5; i++) printf "  %3d %-24s %3d %-24s %3d %s\n", i, name[i], i+5, name[i+5], i+10, name[i+10] }' query.order
echo "  ... and $(($(wc -l <query.order) - 15)) more"

section "Difference of two scenarios" \
  "The functions that only vacuum.sql (B) or only query.sql (A) ran."
shown "cairn diff query.mip vacuum.mip"
cairn diff query.mip vacuum.mip --color never >differences.txt
awk '
  # Eight of each list, evenly spread.
  function flush(  i) { for (i = 0; i < 8 && i < n; i++) print "    " name[int(i * n / 8) + 1]; n = 0 }
  /^ran only in/ { flush(); print "  " $0 ", among them"; on = 1; next }
  /^[^ ]/ || /^$/ { flush(); on = 0 }
  on { name[++n] = $1 }' differences.txt
echo "  The whole list, with the blocks and the calls that differ: differences.txt"

# The programs of later sections are compiled meanwhile.
framed="-O1 -g -w -foptimize-sibling-calls -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"
(
  t=$(date +%s%N)
  gcc $framed -o sampled shell.c sqlite3.c -lm
  elapsed "$t" >sampled.time
) &
sampler=$!
xray="-O1 -g -w -fxray-instrument -fxray-instruction-threshold=1"
tracer=
if command -v clang-22 >/dev/null && echo 'int main(void) { return 0; }' | clang-22 $xray -x c - -o traced 2>/dev/null; then
  (
    t=$(date +%s%N)
    clang-22 $xray -o traced shell.c sqlite3.c -lm
    elapsed "$t" >traced.time
  ) &
  tracer=$!
fi

section "A program that starts faster" \
  "Built again by the profile, without probes: functions in the order of their use, and blocks
that never ran moved away from those that did."
shown "cairn cc --use all.mip gcc $flags -o ordered shell.c sqlite3.c -lm"
t=$(date +%s%N)
cairn cc --use all.mip gcc $flags -o ordered shell.c sqlite3.c -lm
echo "  built in $(elapsed "$t")"
echo
echo "Pages of 4 KiB that hold the code of each run, in the plain build of step 1 and in this:"
echo
run "cairn pages ordered all.mip --before plain --html pages.html"
echo "  least: as few as the code would fit in   64K: what Linux maps at once if it is cached"
echo
echo "These are predictions. Now both programs run, and their page faults are counted:"
echo
# Some containers do not permit ptrace.
shown "cairn pages ordered all.mip --before plain --scenario query --measure -- loaded.db query.sql"
if cairn pages ordered all.mip --before plain --scenario query --measure -- loaded.db query.sql >measured.txt 2>measured.log; then
  sed -n '/^measured/,$s/^/  /p' measured.txt
  echo "  A program as small as this is read from disk in one go, and from the cache Linux maps"
  echo "  16 pages at once, so its faults hardly differ. docs/layout-why.md says when fewer pages save time."
else
  echo "  Not possible on this machine: $(sed -n 's/^cairn: //p' measured.log | tail -1)"
fi
echo
echo "  Both layouts, page by page: $out/pages.html"

# ---------------------------------------------------------------------------
if [ -n "$tracer" ]; then
  section "Every single call" \
    "A trace has the time and the duration of every call. clang's XRay writes such traces, and
cairn reads them. This program was built while the last steps ran:"
  shown "clang-22 $xray -o traced shell.c sqlite3.c -lm"
  wait "$tracer"
  echo "  built in $(cat traced.time)"
  echo
  shown "export XRAY_OPTIONS='patch_premain=true xray_mode=xray-basic xray_logfile_base=trace.'"
  shown "export XRAY_BASIC_OPTIONS='func_duration_threshold_us=0 max_stack_depth=1000'"
  (
    export XRAY_OPTIONS='patch_premain=true xray_mode=xray-basic xray_logfile_base=trace.'
    export XRAY_BASIC_OPTIONS='func_duration_threshold_us=0 max_stack_depth=1000'
    cp loaded.db traced.db
    # XRay warns on most virtual machines that it does not know the rate of the clock.
    run "./traced traced.db query.sql 2>trace.warnings"
  )
  mv trace.traced.* query.xray
  awk -v bytes="$(stat -c %s query.xray)" 'BEGIN {
    printf "  query.xray: %.1f million entries and exits, %.0f MB\n", bytes / 32e6, bytes / 1e6 }'

  section "The stacks with most time" \
    "Each function with the time of its calls on this stack, with and without its callees."
  t=$(date +%s%N)
  run "cairn stacks traced --top 3 query.xray"
  echo
  echo "  $(elapsed "$t") for all of it."

  section "Ask the trace" \
    "The trace as a database: the callees of SQLite's interpreter and the spread of their times,
in nanoseconds. p50 and p99 are percentiles of single calls."
  cat >callees.sql <<'SQL'
SELECT callee, calls, total, p50, p99, max
FROM callees WHERE function = 'sqlite3VdbeExec' LIMIT 6
SQL
  sed 's/^/  /' callees.sql
  echo
  run "cairn query traced query.xray --file callees.sql"

  section "A flame graph" \
    "The trace as one HTML file. The width of a frame is its time."
  run "cairn flame traced query.xray -o flame.html"
else
  section "Every single call" \
    "Left out: XRay needs clang-22 and its runtime (apt-get install clang-22 libclang-rt-22-dev)."
fi

# ---------------------------------------------------------------------------
section "The call that took too long" \
  "A program draws frames of one millisecond, and every hundredth takes twenty. Mode spike checks
the duration of every call, and logs the stack and the callees of those above the threshold."
cp "$repo/demo/frames.c" .
run "cairn build --mode spike --threshold 5ms -- gcc -O1 -g -o frames frames.c"
run "CAIRN_DIR=spikes ./frames"
echo
run "cairn spikes --top 1 spikes"

# ---------------------------------------------------------------------------
section "Missing frames of samples" \
  "A function whose last action is a call (a tail call) jumps to its callee, and is missing from
the stacks of all samples taken there. cairn restores it from the branches in the samples. It also
records samples with branches on machines without branch hardware. This program, with frame
pointers, was built while other steps ran:"
shown "gcc $framed -o sampled shell.c sqlite3.c -lm"
wait "$sampler"
echo "  built in $(cat sampled.time)"
echo
cp loaded.db sampled.db
shown "cairn record -o query.perf --every 10007 -- ./sampled sampled.db query.sql >sampled.out"
if cairn record -o query.perf --every 10007 -- ./sampled sampled.db query.sql >sampled.out 2>record.log; then
  sed 's/^/  /' record.log
  run "cairn profgen sampled --format folded -o whole.folded query.perf"
  echo
  # Of the stacks with a restored frame the one with the most samples, without and with it.
  awk -v on="$green" -v off="$off" '
    { n = $NF; stack = $0; sub(/ [0-9]+$/, "", stack) }
    stack ~ / \[inferred\]/ && n > most { most = n; whole = stack }
    END {
      if (!whole) { print "  no frame is missing"; exit }
      found = whole
      gsub(/[^;]* \[inferred\];/, "", found)
      gsub(/[^;]* \[inferred\]/, on "&" off, whole)
      gsub(/;/, " > ", found); gsub(/;/, " > ", whole)
      printf "  %d samples were recorded with this stack:\n    %s\n  restored:\n    %s\n", most, found, whole
    }' whole.folded
else
  echo "  Not possible on this machine: $(sed -n 's/^cairn: //p' record.log | tail -1)"
fi

# ---------------------------------------------------------------------------
section "From many machines" \
  "A collector receives the raw files of a hundred processes of the SQLite of step 1, and is killed
and started again meanwhile."
url="http://127.0.0.1:27481"
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true' EXIT
collect() {
  "$repo/cairn" collect collected --listen 127.0.0.1:27481 >collect.url 2>collect.log &
  pid=$!
}
shown "cairn collect collected --listen 127.0.0.1:27481 &"
collect
mkdir fleet
t=$(date +%s%N)
echo "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2); SELECT sum(a) FROM t;" >start.sql
seq 100 | CAIRN_SCENARIO=start CAIRN_DIR=fleet xargs -P 4 -I{} ./shell fleet-{}.db start.sql >/dev/null
rm -f fleet-*.db
echo "  $(find fleet -name '*.mipraw' | wc -l) raw files after $(elapsed "$t")"
cairn merge -o merged.mip shell fleet 2>/dev/null
mkdir late
find fleet -name '*.mipraw' | sort | tail -50 | xargs mv -t late
run "cairn push fleet shell --to $url --patience 2m"
shown "kill -KILL $pid   # the collector"
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
shown "cairn collect collected --listen 127.0.0.1:27481 &"
collect
run "cairn push late --to $url --patience 2m"
run "cairn order --from http://127.0.0.1:27481 --program shell -o fleet.order"
if command -v curl >/dev/null; then
  curl -s http://127.0.0.1:27481/shell >fleet.mip
  echo
  shown "cmp fleet.mip merged.mip   # the profile of the collector, and that of cairn merge"
  cmp fleet.mip merged.mip && echo "  equal"
fi
kill -KILL "$pid" 2>/dev/null || true
wait 2>/dev/null || true
trap - EXIT

# ---------------------------------------------------------------------------
if command -v go >/dev/null; then
  . "$repo/demo/gofmt.sh"
  go_scene
fi

# ---------------------------------------------------------------------------
section "One report" \
  "Everything above in one HTML file without scripts from elsewhere: functions, sources, call graph,
pages, the time line and flame graphs of the trace, spikes and samples."
inputs="all.mip shell"
[ -z "$tracer" ] || inputs="$inputs query.xray traced"
inputs="$inputs spikes frames"
[ ! -e query.perf ] || inputs="$inputs query.perf sampled"
run "cairn report $inputs -o report.html"
echo
echo "  ${bold}Open it in a browser: $out/report.html${off}"

section "Done in $(elapsed "$begin")" \
  "All files are in demo/out. More commands to try there, with PATH=\$PATH:../.. :"
[ -z "$tracer" ] || cat <<'TRY'
  cairn query traced query.xray --view slowest      the longest calls of the log
  cairn convert traced query.xray -o calls.parquet  every call as a row, for DuckDB
TRY
[ ! -e query.perf ] || echo "  cairn samples query.perf                                statistics of samples, also of perf.data"
cat <<'TRY'
  cairn show all.mip shell -r '^sqlite3Vdbe' --sort calls | less
  cairn covered all.mip shell --missed                  functions and lines that no run reached
  cairn callgraph query.mip | dot -Tsvg -o query.svg      the call graph (needs graphviz)
  cairn yaml all.mip | less                               the profile as text
  cairn cc gcc ...                                        your own program: see docs/start.md
TRY
