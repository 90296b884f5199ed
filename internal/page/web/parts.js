/* parts.js has small pieces that several views show. */

/**
 * meter is a bar of what was covered: counts are [ran, did not, unknown] or [covered, of].
 * The unknown part is hatched.
 */
cairn.meter = function (counts, options) {
  const three = counts.length === 3;
  const total = three ? counts[0] + counts[1] + counts[2] : counts[1];
  const f = cairn.format;
  const text = three && counts[2]
    ? f.percent(counts[0], total) + ", " + f.percent(counts[2], total) + " unknown"
    : f.percent(counts[0], total);
  if (!total) return cairn.el("span", { class: "meter none" });
  return cairn.el("span", { class: "meter", title: f.count(counts[0]) + " of " + f.count(total) + ": " + text, role: "img", "aria-label": text },
    cairn.el("i", { class: "ran", style: { "flex-grow": String(counts[0]) } }),
    three && counts[2] ? cairn.el("i", { class: "unknown", style: { "flex-grow": String(counts[2]) } }) : null,
    cairn.el("i", { class: "rest", style: { "flex-grow": String(three ? counts[1] : total - counts[0]) } }));
};

/** stat is a number with its name, and what there is to say of it. */
cairn.stat = function (name, value, note) {
  return cairn.el("div", { class: "stat" }, cairn.el("dt", null, name), cairn.el("dd", null, value, note ? cairn.el("small", null, note) : null));
};

/** atLeast marks a lower bound. */
cairn.atLeast = function (is) {
  return is ? cairn.el("abbr", { class: "least", title: "A lower bound: more than one thread may have counted, or parts of the function are entered without it." }, "≥") : null;
};

/** evidence says what an edge is known by. */
cairn.evidence = function (e) {
  const f = cairn.format, words = [];
  if (e.kind === "observed") words.push("observed by a return address in " + f.plural(e.runs, "run"));
  if (e.kind === "implied") words.push("in code that ran");
  if (e.kind === "possible") words.push("possible, by a pointer");
  if (e.calls) words.push(f.plural(e.calls, "call") + " in the log");
  if (e.samples) words.push(f.plural(e.samples, "sample") + (e.restored ? ", " + f.count(e.restored) + " with a restored frame" : ""));
  return words.join("; ");
};

/** blocks draws which blocks of a function ran, one square for each. */
cairn.blocks = function (bits, label) {
  const svgWidth = 720, side = bits.length > 600 ? 6 : bits.length > 120 ? 9 : 13, gap = side > 8 ? 2 : 1, columns = Math.floor(svgWidth / (side + gap));
  let ran = "", not = "", n = 0;
  for (const c of bits) {
    if (c === " ") {
      n += 1;
      continue;
    }
    const x = n % columns * (side + gap), y = Math.floor(n / columns) * (side + gap);
    const d = "M" + x + " " + y + "h" + side + "v" + side + "h-" + side + "z";
    if (c === "1") ran += d;
    else not += d;
    n++;
  }
  const height = Math.ceil(n / columns) * (side + gap);
  const width = Math.min(n, columns) * (side + gap);
  return cairn.svg("svg", { class: "blocks", viewBox: "0 0 " + width + " " + height, width: width, height: height, role: "img", "aria-label": label },
    cairn.svg("path", { class: "ran", d: ran }), cairn.svg("path", { class: "not", d: not }));
};

/** segmented is a choice of a few values: [[value, text, count], ...]. */
cairn.segmented = function (label, values, current, choose) {
  return cairn.el("div", { class: "segmented", role: "group", "aria-label": label }, values.map(function (v) {
    return cairn.el("button", { type: "button", "aria-pressed": String(v[0] === current), onclick: function () { choose(v[0]); } },
      v[1], v[2] !== undefined ? cairn.el("span", { class: "count" }, cairn.format.count(v[2])) : null);
  }));
};

/** searchField is an input with a lens; it calls change as one types. */
cairn.searchField = function (label, value, change) {
  return cairn.el("input", { type: "search", class: "search", placeholder: label, "aria-label": label, value: value || "", spellcheck: "false", autocomplete: "off",
    oninput: function (e) { change(e.target.value); } });
};

/** matcher returns a test of names for what was typed: words, or /a regular expression/. */
cairn.matcher = function (text) {
  text = text.trim();
  if (!text) return function () { return true; };
  const m = /^\/(.*?)(\/i?)?$/.exec(text);
  if (m && text.length > 1) {
    const re = new RegExp(m[1], m[2] === "/i" ? "i" : ""); // may throw: the caller says so
    return function (name) { return re.test(name); };
  }
  const words = text.toLowerCase().split(/\s+/);
  return function (name) {
    const low = name.toLowerCase();
    return words.every(function (w) { return low.includes(w); });
  };
};
