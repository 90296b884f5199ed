
-- Every single call, and every event that the program logged: tables that are read from
-- the logs row by row while a query runs. They exist if cairn query is given logs;
-- a database that --save wrote does not have them (--calls writes the calls).
-- Conditions on id, parent, log, thread, func, function, begin, end, duration, self and
-- depth with =, <, <=, >, >= and BETWEEN, and those of events on log, thread, time and
-- call, are used while reading: with conditions on id or time, only the parts of the
-- log around them are read again. The order of rows is undefined.

CREATE TABLE calls (
  id       INTEGER PRIMARY KEY,  -- unique over all logs; slowest_calls and Parquet have it as call
  parent   INTEGER NOT NULL,     -- id of its caller's call, 0 for none
  log      INTEGER NOT NULL,     -- as in logs
  thread   INTEGER NOT NULL,     -- as in threads
  func     INTEGER NOT NULL,     -- as in functions
  function TEXT NOT NULL,        -- its name there
  stack    INTEGER,              -- as in stacks
  depth    INTEGER NOT NULL,     -- 1 for the outermost
  begin    INTEGER NOT NULL,     -- since the log's start
  end      INTEGER NOT NULL,
  duration INTEGER NOT NULL,
  self     INTEGER NOT NULL,
  ended    TEXT NOT NULL,        -- 'exit', 'tail exit', 'deduced', 'open'
  cpu      INTEGER NOT NULL,     -- the processor where it began
  args     TEXT                  -- JSON array of arguments, NULL if none were logged
);

CREATE TABLE events (
  log      INTEGER NOT NULL,     -- as in logs
  thread   INTEGER NOT NULL,     -- as in threads
  time     INTEGER NOT NULL,     -- since the log's start
  kind     TEXT NOT NULL,        -- 'custom' or 'typed'
  type     INTEGER,              -- of a typed event
  data     BLOB,                 -- the logged data: text if it is UTF-8
  call     INTEGER NOT NULL,     -- the innermost call that was running, 0 for none
  cpu      INTEGER NOT NULL      -- the processor
);
