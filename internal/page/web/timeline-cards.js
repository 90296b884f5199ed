/* timeline-cards.js says what is known of a call or of a spike of the time line. */
cairn.timelineCards = (function () {
  const el = cairn.el, f = cairn.format;

  /** callRows is a title and pairs. */
  function callRows(model, r, duration) {
    const name = model.names[r.fn];
    const start = ["Start", cairn.bars.time(r.from, 1, model.unit)];
    if (r.depth === 0) return [r.block ? f.plural(r.calls, "event") + ", one of them: " + name : name, start];
    if (r.block) {
      const sum = function (n) { return cairn.format.sum(n, model.lanes[r.lane].step, duration); };
      return [f.plural(r.calls, "call") + ", mostly " + name, start, ["In calls", sum(r.to - r.from - r.idle) + " of " + duration(r.to - r.from)], ["Mean", cairn.format.coarse((r.to - r.from - r.idle) / r.calls, model.lanes[r.lane].step, duration)],
        ["", "Zoom in to see each."]];
    }
    const rows = [name, ["Took", (r.kind === 1 ? "at least " : "") + cairn.format.coarse(r.to - r.from, model.lanes[r.lane].step, duration)], start, ["Depth", String(r.depth)]];
    if (r.kind === 1) rows.push(["", "Its end is not in the log."]);
    return rows;
  }

  function spikeRows(s) {
    const rows = ["Spike in " + s.peak.function, ["Took", interval(s.interval_ns)]];
    for (const b of s.blame.slice(0, 4)) rows.push([f.duration(b.time), b.function]);
    if (s.why) rows.push(["Why", s.why.text]);
    return rows;
  }

  function frameRows(x) {
    const rows = ["Frame " + f.count(x.number), ["Took", f.duration(x.end - x.start)]];
    for (const b of x.blame.slice(0, 5)) rows.push([f.duration(b.time), b.function + (b.calls > 1 ? ", " + f.plural(b.calls, "call") : "")]);
    if (!x.blame.length) rows.push(["", "No call in it took too long by itself."]);
    return rows;
  }

  function interval(r) { return r[1] - r[0] < r[1] / 50 ? f.duration(r[1]) : f.duration(r[0]) + " to " + f.duration(r[1]); }

  function pairs(list) { return el("dl", null, list.map(function (p) { return [el("dt", null, p[0]), el("dd", null, p[1])]; })); }

  /** call shows a call, or what to do if there is none. */
  function call(root, model, r, duration, act) {
    if (!r) {
      root.replaceChildren(el("h2", null, "Call"), el("p", { class: "soft" },
        "Click a call to see it here, double-click to zoom to it. Drag to move, with Shift or in the axis to select; Ctrl and the wheel zoom. Press ? for the keys."));
      return;
    }
    const rows = callRows(model, r, duration);
    const name = model.names[r.fn];
    const known = cairn.model.functions.find(function (fn) { return fn.name === name || fn.symbol === name; });
    root.replaceChildren(
      el("h2", null, rows[0]), pairs(rows.slice(1)), el("p", null, el("span", { class: "tl-bar" },
        el("span", { class: "group" }, el("button", { type: "button", onclick: act.zoom }, "Zoom to it"),
          el("button", { type: "button", onclick: act.select }, "Select its time"), el("button", { type: "button", onclick() { act.pick(name); } }, "Find all")),
        known && cairn.link({ view: "function", f: known.key }, "The function"))));
  }

  /** spike shows a spike. */
  function spike(root, model, s) {
    const stack = s.stack.slice().reverse();
    root.replaceChildren(
      el("h2", null, "Spike in " + s.peak.function),
      pairs([["Took", interval(s.interval_ns) + (s.preempted ? ", its thread lost the processor" : "")], ["Thread", (s.thread || "thread") + " " + s.tid],
        ["Ended", cairn.bars.time(s.end, 1e6, model.unit)], ["Seen", f.plural(s.seen, "time")], s.frame ? ["Frame", f.count(s.frame)] : null,
        s.desc ? ["Description", s.desc] : null, s.why ? ["Why", s.why.text] : null].filter(Boolean)),
      el("h3", null, "Time that calls below do not explain"), pairs(s.blame.map(function (b) { return [f.duration(b.time), b.function + (b.calls > 1 ? ", " + f.plural(b.calls, "call") : "")]; })),
      el("h3", null, "Stack"), el("ol", null, stack.map(function (e) { return el("li", null, e.function + (e.file ? " " : ""), e.file && el("span", { class: "soft" }, f.base(e.file) + ":" + e.line)); })));
  }

  return { callRows: callRows, spikeRows: spikeRows, frameRows: frameRows, call: call, spike: spike };
})();
