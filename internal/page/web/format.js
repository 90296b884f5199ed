/* format.js writes numbers, sizes and times for people. cairn.format is also ctx.format. */
cairn.format = (function () {
  const nbsp = "\u202f"; // narrow, between a number and its unit

  const grouped = new Intl.NumberFormat("en-US");

  function count(n) { return n === undefined || n === null ? "" : grouped.format(n); }

  /** mean is a number that need not be whole: with a decimal below a hundred. */
  function mean(n) { return count(n < 100 ? Math.round(10 * n) / 10 : Math.round(n)); }

  /** short is a count in four characters or so: 812, 1.2 k, 45 M. */
  function short(n) {
    for (const [limit, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (n >= limit) return (n / limit < 100 ? (n / limit).toFixed(1) : Math.floor(n / limit).toFixed(0)) + nbsp + unit;
    }
    return String(n);
  }

  /** percent never rounds to 0 or 100 what is not. */
  function percent(part, whole) {
    if (!whole) return "–";
    let tenths = Math.round(1000 * part / whole);
    if (part < whole) tenths = Math.min(tenths, 999);
    if (part > 0) tenths = Math.max(tenths, 1);
    return (tenths / 10).toFixed(1) + nbsp + "%";
  }

  function bytes(n) {
    for (const [limit, unit] of [[1 << 30, "GiB"], [1 << 20, "MiB"], [1 << 10, "KiB"]]) {
      if (n >= limit) return (n / limit).toFixed(n / limit < 10 ? 1 : 0) + nbsp + unit;
    }
    return n + nbsp + "B";
  }

  /** duration is a time in nanoseconds, in four digits. */
  function duration(ns) {
    if (ns < 1000) return Math.round(ns) + nbsp + "ns";
    for (const [limit, unit] of [[1e3, "µs"], [1e6, "ms"], [1e9, "s"]]) {
      const n = ns / limit;
      if (n < 999.95 || unit === "s") {
        return (n >= 1000 ? count(Math.round(n)) : n.toFixed(n < 10 ? 3 : n < 100 ? 2 : 1)) + nbsp + unit;
      }
    }
    return "";
  }

  /** coarse is the time of a single call, which is known to a step of the clock. write writes times. */
  function coarse(n, step, write) { return step && n < 2 * step ? "< " + write(n + step) : write(n); }

  /** sum is that of many calls: zero says only that it is small. */
  function sum(n, step, write) { return step && !n ? "< " + write(step) : write(n); }

  function plural(n, what) { return count(n) + " " + what + (n === 1 ? "" : "s"); }

  function hex(n) { return "0x" + Number(n).toString(16); }

  /** base is the last part of a path. */
  function base(path) { return path.slice(path.lastIndexOf("/") + 1); }

  return { count: count, mean: mean, short: short, percent: percent, bytes: bytes, duration: duration, coarse: coarse, sum: sum, plural: plural, hex: hex, base: base };
})();
