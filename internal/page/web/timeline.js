/*
 * timeline.js is the view of logs of calls over time. A route has from and to, the part that is
 * seen, a and z, the part that is selected, q, what is searched for, and lane.
 */
(function () {
  const MAP = 34, AXIS = 24, MOST = 64; // MOST: lanes that a table is of
  const el = cairn.el;
  let current = null; // the view on the screen, for keys

  function Timeline(root, ctx) {
    const model = ctx.model.timeline;
    const end = Math.max(1, model.end);
    const state = {
      view: { from: 0, to: end, width: 100 }, selection: null, match: null, chosen: null, spike: null, query: "",
      closed: new Set(model.lanes.length > 24 ? model.lanes.keys() : []), bars: 0, frames: 0,
    };
    let lanes = cairn.lanes.layout(model, state.closed);
    let failure = "", asked = 0, drawn = 0, closed = false, tree = null;
    const store = (model.served ? cairn.tiles.Tiles(model, changed) : cairn.tiles.Packs(ctx.load, changed));

    // What is on the page.

    const search = el("input", { type: "search", placeholder: "Search functions (f)", "aria-label": "Search functions", oninput() { find(search.value); } });
    const button = function (text, title, f) { return el("button", { type: "button", title: title, "aria-label": title, onclick: f }, text); };
    const zoomButtons = el("span", { class: "group" }, button("−", "Zoom out (s)", function () { zoom(2); }), button("+", "Zoom in (w)", function () { zoom(0.5); }),
      button("All", "Show all of it (0)", function () { look(0, end); }));
    const spikes = model.spikes || [];
    const spikeButtons = spikes.length > 0 && el("span", { class: "group" }, button("‹", "Previous spike ([)", function () { nextSpike(-1); }),
      el("button", { type: "button", disabled: true }, cairn.format.plural(spikes.length, "spike")), button("›", "Next spike (])", function () { nextSpike(1); }));
    const flame = el("button", { type: "button", onclick: toFlame }, "Flame graph");
    const clear = el("button", { type: "button", onclick() { select(null); } }, "Clear");
    const selectionButtons = el("span", { class: "group" }, flame, clear);
    const say = el("span", { class: "tl-say", role: "status" });
    const map = el("canvas", { class: "tl-map", "aria-hidden": "true" });
    const axis = el("canvas", { class: "tl-axis", "aria-hidden": "true" });
    const canvas = el("canvas", { class: "tl-lanes", tabindex: "0", role: "application", "aria-label": "Calls over time. Arrows move from call to call, Enter zooms in; the tables below have the same data." });
    const labels = el("div", { class: "tl-labels" });
    const space = el("div", { class: "tl-space" }, labels, canvas);
    const scroll = el("div", { class: "tl-scroll", onscroll: draw }, space);
    const tip = el("div", { class: "tl-tip", hidden: true });
    const tableRoot = el("div", null);
    const table = cairn.costs.Table(tableRoot, { pick: pick });
    const tableHead = el("h2", null, "Functions");
    const tableSay = el("p", { class: "soft" });
    const card = el("section", { class: "tl-card", "aria-live": "polite" });
    const notes = [model.limit, ...model.notes].filter(Boolean);
    cairn.set(root, null, [
      el("h1", { class: "unseen" }, "Time line"),
      el("div", { class: "tl-bar" }, search, zoomButtons, spikeButtons, selectionButtons, say),
      el("div", { class: "tl-box" }, map, axis, scroll),
      notes.length > 0 && el("p", { class: "tl-note" }, notes.join(" ")),
      el("div", { class: "tl-below" }, el("section", null, tableHead, tableSay, tableRoot), card), tip]);

    // Drawing.

    function changed(e) {
      if (closed) return;
      if (e) failure = e.message || String(e);
      later();
      draw();
    }

    function draw() {
      if (!asked) asked = requestAnimationFrame(paint);
    }

    function axisHeight() { return AXIS + 26 * (model.frames || []).length; }

    function paint() {
      asked = 0;
      if (closed) return;
      lanes.height = Math.max(lanes.height, 1);
      scroll.style.height = "min(62vh, " + Math.max(120, lanes.height + 4) + "px)";
      const box = scroll.clientWidth;
      state.view.width = box;
      const height = scroll.clientHeight;
      space.style.height = Math.max(height, lanes.height) + "px";
      const look = { match: state.match, chosen: state.chosen, selection: state.selection, spike: state.spike };
      state.bars = cairn.lanes.draw(cairn.bars.fit(canvas, box, height), model, store, lanes, state.view, scroll.scrollTop, height, look);
      cairn.lanes.axis(cairn.bars.fit(axis, box, axisHeight()), model, state.view, axisHeight(), look);
      cairn.lanes.map(cairn.bars.fit(map, box, MAP), model, busyness(box), state.view, MAP);
      drawLabels(height);
      drawn++;
      state.frames = drawn;
      root.dataset.bars = state.bars;
      if (!store.busy()) root.dataset.drawn = drawn;
      sayView();
    }

    let busy = null, busyWidth = 0; // how busy each column of the map is, until more is loaded
    function busyness(width) {
      if (!busy || busyWidth !== width) busy = cairn.lanes.busy(model, store, lanes, width);
      busyWidth = width;
      const known = busy;
      if (store.busy()) busy = null;
      return known;
    }

    let labelled = "";
    function drawLabels(height) {
      const seen = cairn.lanes.visible(lanes, scroll.scrollTop, height);
      const key = seen.map(function (x) { return x.index + (x.closed ? "c" : "o") + x.top; }).join(" ");
      if (key === labelled) return;
      labelled = key;
      labels.replaceChildren(...seen.map(function (x) {
        const l = x.of;
        const facts = [l.calls || !x.spikes.length ? cairn.format.plural(l.calls, "call") : "", x.spikes.length ? cairn.format.plural(x.spikes.length, "spike") : "", l.events ? cairn.format.plural(l.events, "event") : "", l.busy ? cairn.format.percent(l.busy, end) + " of the time" : "",
          l.deeper ? cairn.format.plural(l.deeper, "deeper call") + " not drawn" : ""].filter(Boolean).join(", ");
        return el("button", {
          type: "button", "aria-expanded": x.closed ? "false" : "true", style: { top: x.top + "px" }, title: "Show or hide the calls of the thread",
          onclick() { toggle(x.index); },
        }, (x.closed ? "▸ " : "▾ ") + nameOf(l), el("span", { class: "soft" }, facts));
      }));
    }

    function nameOf(l) { return model.logs.length > 1 ? l.name + " of " + model.logs[l.log] : l.name; }

    function duration(n) { return model.unit === "ns" ? cairn.format.duration(n) : cairn.format.count(n) + " ticks"; }

    function sayView() {
      const v = state.view;
      const apart = Math.max(1, Math.pow(10, Math.floor(Math.log10((v.to - v.from) / 100))));
      let text = duration(v.to - v.from) + " from " + cairn.bars.time(Math.round(v.from), apart, model.unit);
      if (state.selection) text += " · selected: " + duration(state.selection.to - state.selection.from);
      if (state.match) text += " · " + cairn.format.plural(state.match.size, "function") + " found";
      if (failure) text += " · " + failure;
      if (say.textContent !== text) say.textContent = text;
      flame.textContent = state.selection ? "Flame graph of the selection" : "Flame graph of this part";
      clear.disabled = !state.selection;
    }

    function toggle(i) {
      if (!state.closed.delete(i)) state.closed.add(i);
      lanes = cairn.lanes.layout(model, state.closed);
      draw();
    }

    // Moving.

    // An entry of the history is a selection or a zoom: going back undoes one. Moving adds none.
    let entry = null; // what the last one shows
    const keep = cairn.debounce(function () {
      if (closed) return;
      const v = state.view, width = v.to - v.from, chosen = state.selection ? state.selection.from + "-" + state.selection.to : "";
      const least = 1.5; // times as wide or narrow
      const step = entry && (chosen !== entry.chosen || width > entry.width * least || width * least < entry.width);
      if (step || !entry) entry = { width: width, chosen: chosen };
      ctx.go(route(), { replace: !step });
    }, 250);

    function route() {
      const v = state.view, s = state.selection;
      return {
        view: "timeline", from: v.from > 0 || v.to < end ? Math.round(v.from) : "", to: v.from > 0 || v.to < end ? Math.round(v.to) : "",
        a: s ? Math.round(s.from) : "", z: s ? Math.round(s.to) : "", q: state.query,
      };
    }

    function look(from, to) {
      const least = Math.max(8, state.view.width / 40); // 40 pixels for a nanosecond
      let width = Math.min(end * 1.02, Math.max(least, to - from));
      const middle = (from + to) / 2;
      from = Math.max(-end * 0.01, Math.min(middle - width / 2, end * 1.01 - width));
      if (width >= end) {
        from = 0;
        width = end;
      }
      state.view.from = Math.max(0, from);
      state.view.to = state.view.from + width;
      keep();
      draw();
      if (!state.selection) later();
    }

    function zoom(by, x) {
      const v = state.view;
      const at = v.from + (v.to - v.from) * (x === undefined ? 0.5 : x / v.width);
      look(at - (at - v.from) * by, at + (v.to - at) * by);
    }

    function pan(px) {
      const v = state.view, by = px * (v.to - v.from) / v.width;
      look(v.from + by, v.to + by);
    }

    function timeAt(x) { return state.view.from + x * (state.view.to - state.view.from) / state.view.width; }

    // Selecting, and the tables of what is selected.

    function select(range) {
      state.selection = range && range.to > range.from ? { from: Math.max(0, Math.floor(range.from)), to: Math.min(end, Math.ceil(range.to)) } : null;
      if (state.selection && state.selection.to <= state.selection.from) state.selection = null;
      keep();
      draw();
      later();
    }

    function part() {
      const r = state.selection || state.view;
      return { from: Math.max(0, Math.floor(r.from)), to: Math.min(end, Math.max(Math.floor(r.from) + 1, Math.ceil(r.to))) };
    }

    let computing = 0;
    const later = cairn.debounce(tabulate, 300);
    function tabulate() {
      if (closed) return;
      const range = part(), mine = ++computing;
      const exact = state.selection !== null;
      const some = model.lanes.length > MOST && !(model.served && exact) && !cairn.wholeGraph(ctx.model, range) ? cairn.lanes.visible(lanes, scroll.scrollTop, scroll.clientHeight).map(function (l) { return l.index; }) : null;
      const level = model.served ? cairn.lanes.levelOf(model, { from: range.from, to: range.to, width: state.view.width }) : model.level;
      cairn.rangeTree(ctx, store, range, exact, level, some).then(function (t) {
        if (mine !== computing || closed || !t) return;
        tree = t;
        tableHead.textContent = state.selection ? "Functions of the selection" : "Functions of this part";
        tableSay.textContent = duration(range.to - range.from) + (some ? ", the threads on the screen" : "") +
          ". " + (t.approximate ? cairn.approximate(t) + (model.served ? " What is selected is exact." : "") : "");
        table.show(t);
        root.dataset.table = String(mine);
      }, function (e) {
        tableSay.textContent = String(e.message || e);
      });
    }

    function pick(name) {
      search.value = tree.names[name];
      find(tree.names[name], true);
      table.pick(name);
    }

    function find(text, exact) {
      state.query = text;
      const wanted = text.toLowerCase();
      state.match = !wanted ? null : new Set([...model.names.keys()].filter(function (i) {
        return exact ? model.names[i] === text : model.names[i].toLowerCase().includes(wanted);
      }));
      table.filter(exact || !wanted ? null : function (name) { return name.toLowerCase().includes(wanted); });
      keep();
      draw();
    }

    function toFlame() {
      const r = part();
      ctx.go({ view: "flame", from: r.from, to: r.to });
    }

    function nextSpike(by) {
      if (!spikes.length) return false;
      const sorted = spikes.slice().sort(function (a, b) { return a.end - b.end; });
      let i;
      if (state.spike) i = sorted.indexOf(state.spike) + by;
      else if (by > 0) i = Math.max(0, sorted.findIndex(function (s) { return s.end > state.view.from; }));
      else for (i = sorted.length - 1; i > 0 && sorted[i].start >= state.view.to; i--);
      showSpike(sorted[(i + sorted.length) % sorted.length]);
      return true;
    }

    function showSpike(s) {
      state.spike = s;
      state.chosen = null;
      const w = s.end - s.start;
      look(s.start - w * 0.6, s.end + w * 0.6);
      const lane = lanes.find(function (l) { return l.spikes.includes(s); });
      if (lane && (lane.top < scroll.scrollTop || lane.top + 60 > scroll.scrollTop + scroll.clientHeight)) scroll.scrollTop = lane.top;
      cairn.timelineCards.spike(card, model, s, ctx);
      ctx.announce("Spike in " + s.peak.function);
    }

    function choose(r) {
      state.chosen = r;
      state.spike = null;
      cairn.timelineCards.call(card, model, r, duration, { zoom() { fit(r); }, select() { select(r); }, pick(name) { find(name, true); search.value = name; } });
      if (r) ctx.announce(model.names[r.fn] + ", " + cairn.format.coarse(r.to - r.from, model.lanes[r.lane].step, duration));
      draw();
    }

    function fit(r) {
      const w = Math.max(1, r.to - r.from);
      look(r.from - w * 0.1, r.to + w * 0.1);
    }

    const api = {
      zoom: zoom, pan: pan, look: look, select: select, part: part, timeAt: timeAt, state: state, nextSpike: nextSpike, choose: choose, fit: fit, showSpike: showSpike,
      search: search, end: end, hit(x, y) { return cairn.lanes.hit(lanes, state.view, x, y + scroll.scrollTop); },
      lane(i) { return lanes[i]; }, canvas: canvas, axis: axis, map: map, scroll: scroll, tip: tip, model: model, duration: duration, draw: draw,
    };
    const release = cairn.timelineInput(api);
    const resized = new ResizeObserver(draw);
    resized.observe(scroll);
    document.addEventListener("cairn-theme", draw);

    function update(r) {
      const from = Number(r.from), to = Number(r.to);
      const inside = r.from !== undefined && r.to !== undefined && from >= 0 && to > from && from < end;
      state.view.from = inside ? from : 0;
      state.view.to = inside ? Math.min(to, end * 1.02) : end;
      const a = Number(r.a), z = Number(r.z);
      state.selection = r.a !== undefined && r.z !== undefined && z > a ? { from: a, to: z } : null;
      entry = { width: state.view.to - state.view.from, chosen: state.selection ? a + "-" + z : "" };
      if ((r.q || "") !== state.query) {
        search.value = r.q || "";
        find(search.value);
      }
      draw();
      later();
    }
    update(ctx.route);
    cairn.timelineCards.call(card, model, null, duration, {});
    current = api;
    return {
      update: update,
      destroy() {
        closed = true;
        current = null;
        release();
        resized.disconnect();
        document.removeEventListener("cairn-theme", draw);
      },
    };
  }

  cairn.view({
    id: "timeline", title: "Time line", key: "t", order: 50,
    available(model) { return Boolean(model.timeline && model.timeline.lanes.length); },
    mount: Timeline,
  });

  const on = function (name, help, f) { cairn.key(name, help, function () { return f(current); }, { view: "timeline" }); };
  on("w", "Zoom in", function (t) { t.zoom(0.6); });
  on("s", "Zoom out", function (t) { t.zoom(1 / 0.6); });
  on("a", "Move to earlier times", function (t) { t.pan(-120); });
  on("d", "Move to later times", function (t) { t.pan(120); });
  on("0", "Show all of the time", function (t) { t.look(0, t.end); });
  on("m", "Select the part that is shown", function (t) { t.select(t.state.view); });
  on("z", "Zoom to the selection", function (t) { return t.state.selection ? t.fit(t.state.selection) : false; });
  on("[", "Previous spike", function (t) { return t.nextSpike(-1); });
  on("]", "Next spike", function (t) { return t.nextSpike(1); });
  on("f", "Search functions", function (t) { t.search.focus(); });
  on("Escape", "Clear the selection", function (t) {
    if (document.activeElement === t.search) t.search.blur();
    t.select(null);
    t.choose(null);
  });

  /** approximate says what a tree of merged calls has. */
  cairn.approximate = function (t) {
    const duration = function (n) { return t.unit === "ns" ? cairn.format.duration(n) : cairn.format.count(n) + " ticks"; };
    const sum = function (s) { return cairn.format.plural(s.calls, "call") + " (" + duration(s.time) + " in all)"; };
    return "Approximate: " + sum(t.blocks) + " are short and merged, and their time counts for the function that took most of it. Whose calls they are is not known: numbers of calls (≥) have none of them." +
      (t.lost.calls || t.lost.time ? " " + sum(t.lost) + " more are left out, as their callers are merged: their time counts for these." : "");
  };

  /** wholeGraph returns the flame graph of all calls if a range is all of the time line. */
  cairn.wholeGraph = function (model, range) {
    if (range.from > 0 || range.to < model.timeline.end || !model.flame) return undefined;
    return model.flame.graphs.find(function (g) { return g.whole; });
  };

  /**
   * rangeTree returns the flame graph of a part of the time line, null while data for it are being
   * loaded. A server computes it from the log where exact is set. Else it is made of what is
   * drawn at the given level, where calls may be merged; lanes says of which lanes, null for all.
   */
  cairn.rangeTree = async function (ctx, store, range, exact, level, lanes) {
    const model = ctx.model.timeline, whole = lanes ? undefined : cairn.wholeGraph(ctx.model, range);
    if (whole) return cairn.trees.fromData(await ctx.load(whole.path));
    if (model.served && exact) return cairn.trees.fromData(await ctx.load("timeline/range/" + range.from + "/" + range.to + "/all.json"));
    const parts = (lanes || model.lanes.map(function (l, i) { return i; })).flatMap(function (i) { return store.parts(i, level, range.from, range.to); });
    if (store.busy()) return null;
    return cairn.trees.fromRecords(model, parts, range.from);
  };
})();
