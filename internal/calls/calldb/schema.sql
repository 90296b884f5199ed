-- A database of logs of calls, as cairn query makes it. This is schema 1: later versions
-- of cairn may add tables and columns to it, but rename none and change no meaning.
--
-- Times are integers: nanoseconds if the value of 'unit' in meta is 'ns', and ticks of
-- the log's clock if it is 'ticks', because its rate is not known.
--
-- Many tables have the same columns for the costs of calls:
--
--   calls      number of calls
--   total      time from enter to exit, without calls below calls of the same
--              function (or edge): time in recursion is counted once
--   total_raw  the same for all calls: time in recursion is counted repeatedly
--   self       time outside of callees; its sum is the time of all threads
--   min, p50, p90, p99, max   of the times from enter to exit of single calls;
--              percentiles are exact for up to 32 calls, else within 1.6 %. NULL if not
--              known, as in logs of sums. Durations of single calls are less than they are
--              plus 'step' in meta, that of the recorder's clock: 0 means that they are exact
--   deduced    calls without an exit in the log, which are ended when a caller
--              exits; their time is a lower bound
--   open       calls that were running when the log ended

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,  -- 'schema', 'unit', 'step'
  value TEXT NOT NULL
) STRICT;

CREATE TABLE logs (
  id            INTEGER PRIMARY KEY,  -- from 1, in the order of the command line
  file          TEXT NOT NULL,
  format        TEXT NOT NULL,
  size          INTEGER NOT NULL,     -- bytes
  clock_hz      INTEGER NOT NULL,     -- ticks per second, 0 if not known
  clock_claimed INTEGER NOT NULL,     -- the log's rate, if clock_hz is an estimate; else 0
  epoch         INTEGER NOT NULL,     -- 1 if start is relative to 1970-01-01 UTC, else 0
  start         INTEGER NOT NULL,     -- time of the first event; all other times are relative to it
  damaged       INTEGER NOT NULL,     -- damaged regions, which were skipped
  damaged_bytes INTEGER NOT NULL,     -- bytes in these regions
  duplicates    INTEGER NOT NULL      -- blocks that occurred twice and were read once
) STRICT;

CREATE TABLE threads (
  id            INTEGER PRIMARY KEY,  -- from 1, unique over all logs
  log           INTEGER NOT NULL REFERENCES logs,
  pid           INTEGER NOT NULL,     -- 0 if the log does not contain it
  tid           INTEGER NOT NULL,
  first         INTEGER NOT NULL,     -- time of the thread's first event
  last          INTEGER NOT NULL,     -- time of its last event
  busy          INTEGER NOT NULL,     -- total of calls without a caller
  events        INTEGER NOT NULL,
  enters        INTEGER NOT NULL,
  exits         INTEGER NOT NULL,
  tail_exits    INTEGER NOT NULL,
  custom_events INTEGER NOT NULL,
  typed_events  INTEGER NOT NULL,
  orphans       INTEGER NOT NULL,     -- exits of functions that were not open
  deduced       INTEGER NOT NULL,
  open          INTEGER NOT NULL,
  gaps          INTEGER NOT NULL,     -- places where a stack was dropped because events were missing
  clamped       INTEGER NOT NULL,     -- calls whose time would have been negative
  backwards     INTEGER NOT NULL,     -- events with a time before that of the previous event
  too_deep      INTEGER NOT NULL,     -- enters that were not counted
  max_depth     INTEGER NOT NULL
) STRICT;

-- All known functions, including those without calls.
CREATE TABLE functions (
  id        INTEGER PRIMARY KEY,  -- the function's number in the log
  name      TEXT NOT NULL,        -- symbol, mangled
  function  TEXT NOT NULL,        -- its demangled name
  file      TEXT,                 -- source file, NULL if not known
  line      INTEGER,              -- line in it, NULL if not known
  address   INTEGER,              -- at link time
  object    TEXT,                 -- program or shared object that contains it
  calls     INTEGER NOT NULL,
  total     INTEGER NOT NULL,
  total_raw INTEGER NOT NULL,
  self      INTEGER NOT NULL,
  min INTEGER, p50 INTEGER, p90 INTEGER, p99 INTEGER, max INTEGER,
  deduced   INTEGER NOT NULL,
  open      INTEGER NOT NULL,
  wait      TEXT,                 -- what callers waited for, if it stands for a wait; NULL for a function
  idle      INTEGER NOT NULL      -- of a wait: part of self in which there was nothing to do
) STRICT;

-- A stack is a function and the stack of its caller. Its costs are those of the calls of
-- that function from that stack, in all threads. The stacks of goroutines begin with the
-- functions that started them, if the log has these.
CREATE TABLE stacks (
  id        INTEGER PRIMARY KEY,           -- greater than the parent's
  parent    INTEGER REFERENCES stacks,     -- NULL for the outermost function
  func      INTEGER NOT NULL REFERENCES functions,
  depth     INTEGER NOT NULL,              -- 1 for the outermost function
  calls     INTEGER NOT NULL,
  total     INTEGER NOT NULL,
  self      INTEGER NOT NULL,
  min INTEGER, p50 INTEGER, p90 INTEGER, p99 INTEGER, max INTEGER,
  deduced   INTEGER NOT NULL,
  open      INTEGER NOT NULL,
  part      INTEGER NOT NULL,              -- 0 on a processor, as far as known; 1 waiting; 2 idle: waiting for work
  idle      INTEGER NOT NULL               -- of a wait: part of self in which there was nothing to do
) STRICT;

-- The costs of each stack in each thread.
CREATE TABLE thread_stacks (
  thread    INTEGER NOT NULL REFERENCES threads,
  stack     INTEGER NOT NULL REFERENCES stacks,
  calls     INTEGER NOT NULL,
  total     INTEGER NOT NULL,
  self      INTEGER NOT NULL,
  min INTEGER, p50 INTEGER, p90 INTEGER, p99 INTEGER, max INTEGER,
  deduced   INTEGER NOT NULL,
  open      INTEGER NOT NULL,
  PRIMARY KEY (thread, stack)
) STRICT, WITHOUT ROWID;

-- The costs of calls of each callee by each caller, over all stacks.
CREATE TABLE edges (
  caller    INTEGER REFERENCES functions,  -- NULL for the first functions of threads
  callee    INTEGER NOT NULL REFERENCES functions,
  calls     INTEGER NOT NULL,
  total     INTEGER NOT NULL,
  total_raw INTEGER NOT NULL,
  self      INTEGER NOT NULL,              -- of the callee
  min INTEGER, p50 INTEGER, p90 INTEGER, p99 INTEGER, max INTEGER,
  deduced   INTEGER NOT NULL,
  open      INTEGER NOT NULL
) STRICT;

-- The longest calls. The Parquet file of all calls has the same columns, and pid, tid,
-- function and outermost.
CREATE TABLE slowest_calls (
  rank     INTEGER PRIMARY KEY,  -- 1 is the longest
  log      INTEGER NOT NULL REFERENCES logs,
  thread   INTEGER NOT NULL REFERENCES threads,
  call     INTEGER NOT NULL,     -- number of the call, unique over all logs
  parent   INTEGER NOT NULL,     -- number of its caller's call, 0 for none
  func     INTEGER NOT NULL REFERENCES functions,
  stack    INTEGER NOT NULL REFERENCES stacks,
  depth    INTEGER NOT NULL,
  start    INTEGER NOT NULL,     -- since the log's start
  duration INTEGER NOT NULL,
  self     INTEGER NOT NULL,
  ended    TEXT NOT NULL,        -- 'exit', 'tail exit', 'deduced', 'open'
  cpu      INTEGER NOT NULL,     -- processor on which it began
  args     TEXT                  -- JSON array of arguments, NULL if none were logged
) STRICT;

CREATE INDEX functions_function ON functions (function);
CREATE INDEX stacks_parent ON stacks (parent);
CREATE INDEX stacks_func ON stacks (func);
CREATE INDEX stacks_self ON stacks (part, self DESC);
CREATE INDEX thread_stacks_stack ON thread_stacks (stack);
CREATE INDEX edges_caller ON edges (caller);
CREATE INDEX edges_callee ON edges (callee);

-- Functions that ran, most self time first, then waits.
CREATE VIEW top_functions AS
SELECT function, calls, total, self, min, p50, p90, p99, max, deduced, open, file, line, object, name, id, wait
FROM functions WHERE calls > 0 ORDER BY wait IS NOT NULL, self DESC, total DESC, id;

-- Waits by what they were for, most time first. The last row, whose wait is NULL, is the time outside of waits.
CREATE VIEW waits AS
SELECT wait, sum(CASE WHEN wait IS NULL THEN 0 ELSE calls END) AS waits, sum(self) AS time, sum(idle) AS idle
FROM functions WHERE calls > 0 GROUP BY wait ORDER BY wait IS NULL, sum(self) - sum(idle) DESC, wait;

-- The functions of each stack from the outermost, separated by ';'. Computed only for
-- selected rows.
CREATE VIEW stack_paths AS
SELECT s.id AS stack, (
  WITH RECURSIVE up(parent, func, depth) AS (
    SELECT s.parent, s.func, s.depth
    UNION ALL
    SELECT p.parent, p.func, p.depth FROM up JOIN stacks AS p ON p.id = up.parent
  )
  SELECT group_concat(function, ';') FROM (
    SELECT f.function FROM up JOIN functions AS f ON f.id = up.func ORDER BY up.depth
  )
) AS path
FROM stacks AS s;

-- Stacks, most self time first; then waits, idle ones last.
CREATE VIEW hot_stacks AS
SELECT f.function, s.calls, s.total, s.self, s.p50, s.p99, s.max, s.depth, s.id AS stack,
  (SELECT path FROM stack_paths WHERE stack_paths.stack = s.id) AS path, f.wait
FROM stacks AS s JOIN functions AS f ON f.id = s.func
ORDER BY s.part, s.self DESC, s.id;

-- The longest calls, with names.
CREATE VIEW slowest AS
SELECT c.rank, f.function, c.duration, c.self, c.start, c.ended, t.pid, t.tid, l.file AS log, c.depth, c.stack, c.call, c.args
FROM slowest_calls AS c JOIN functions AS f ON f.id = c.func
JOIN threads AS t ON t.id = c.thread JOIN logs AS l ON l.id = c.log
ORDER BY c.rank;

-- The activity of threads: how much of their time they spent in functions, and the
-- function with the most self time, which is no wait.
CREATE VIEW thread_activity AS
SELECT t.id AS thread, l.file AS log, t.pid, t.tid, t.enters AS calls, t.first, t.last - t.first AS span, t.busy, t.max_depth, (
  SELECT f.function FROM thread_stacks AS ts JOIN stacks AS s ON s.id = ts.stack JOIN functions AS f ON f.id = s.func
  WHERE ts.thread = t.id GROUP BY f.id ORDER BY f.wait IS NOT NULL, sum(ts.self) DESC, f.id LIMIT 1
) AS hottest
FROM threads AS t JOIN logs AS l ON l.id = t.log
ORDER BY t.busy DESC, t.id;

-- The callers of a function: SELECT * FROM callers WHERE function = 'parse'.
CREATE VIEW callers AS
SELECT f.function, c.function AS caller, e.calls, e.total, e.self, e.p50, e.p99, e.max
FROM edges AS e JOIN functions AS f ON f.id = e.callee LEFT JOIN functions AS c ON c.id = e.caller
ORDER BY f.function, e.total DESC, e.caller;

-- The callees of a function.
CREATE VIEW callees AS
SELECT f.function, c.function AS callee, e.calls, e.total, e.self, e.p50, e.p99, e.max
FROM edges AS e JOIN functions AS f ON f.id = e.caller JOIN functions AS c ON c.id = e.callee
ORDER BY f.function, e.total DESC, e.callee;
