
-- calls has every call, events every event that the program logged. Their rows are read
-- from the logs while a query runs, so they exist only if cairn query is given logs: a
-- database that --save wrote does not have them (--calls writes the calls).
-- Conditions with =, <, <=, >, >= and BETWEEN are applied while the logs are read: in calls
-- those on id, parent, log, thread, func, function, begin, end, duration, self and depth,
-- in events those on log, thread, time and call. With conditions on id or time, only the
-- parts of a log around them are read. The order of rows is undefined.

CREATE TABLE calls (
  id       INTEGER PRIMARY KEY,  -- number of the call: column call of slowest_calls and of Parquet
  parent   INTEGER NOT NULL,     -- id of its caller's call, 0 for none
  log      INTEGER NOT NULL,     -- as in logs
  thread   INTEGER NOT NULL,     -- as in threads
  func     INTEGER NOT NULL,     -- as in functions
  function TEXT NOT NULL,        -- demangled name
  stack    INTEGER,              -- as in stacks
  depth    INTEGER NOT NULL,     -- 1 for the outermost function of the thread
  begin    INTEGER NOT NULL,     -- since the log's start
  end      INTEGER NOT NULL,
  duration INTEGER NOT NULL,
  self     INTEGER NOT NULL,
  ended    TEXT NOT NULL,        -- 'exit', 'tail exit', 'deduced', 'open'
  cpu      INTEGER NOT NULL,     -- processor on which it began
  args     TEXT                  -- JSON array of arguments, NULL if none were logged
);

CREATE TABLE events (
  log      INTEGER NOT NULL,     -- as in logs
  thread   INTEGER NOT NULL,     -- as in threads
  time     INTEGER NOT NULL,     -- since the log's start
  kind     TEXT NOT NULL,        -- 'custom' or 'typed'
  type     INTEGER,              -- of a typed event
  data     BLOB,                 -- the logged data: text if it is UTF-8
  call     INTEGER NOT NULL,     -- id of the innermost call that was running, 0 for none
  cpu      INTEGER NOT NULL      -- processor on which it was logged
);
