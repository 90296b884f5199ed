/*
 * lead.js has the pictures of the overview: the call that took too long, the time line of logs of calls, a flame graph of
 * them or of samples, the code by whether it ran. The first of those that there are leads the page.
 */
cairn.lead = (function () {
  const el = cairn.el, MOST = 16, TALL = 300; // rows of a flame graph, pixels of a time line

  /** watched has a picture drawn again when its size or the colours change, until it is taken from the page. */
  function watched(figure, paint) {
    const resized = new ResizeObserver(paint);
    resized.observe(figure);
    document.addEventListener("cairn-theme", paint);
    return { element: figure, destroy() { resized.disconnect(); document.removeEventListener("cairn-theme", paint); } };
  }

  /** spike is the picture of the call that the first sentence is about, below the spikes and frames of the whole run. */
  function spike(model, ctx) {
    const groups = model.spikes ? model.spikes.groups.concat(model.spikes.open || []) : [];
    if (!groups.length) return null;
    const found = (model.findings || []).find(function (f) { return f.view === "spikes"; }), n = found ? Number(found.with.n) : 0, s = groups[n], pic = cairn.spikePicture;
    s.shades = s.stack.map(function (f) { return cairn.trees.shade(f.function); });
    const bars = pic.bars(s), run = model.timeline, route = { view: "spikes", n: String(n) };
    const box = el("div", { class: "picture", role: "img", "aria-label": "The stack of " + s.peak.function + " over time", onclick() { ctx.go(route); } });
    const strip = run && (run.spikes || []).length ? el("canvas", { role: "img", "aria-label": cairn.format.plural(run.spikes.length, "spike") + " over the time of the run", onclick() { ctx.go({ view: "timeline" }); } }) : null;
    const explained = model.spikes.late && model.spikes.late.time_ns
      ? " The rows of the list explain " + cairn.format.percent(model.spikes.late.explained_ns, model.spikes.late.time_ns) + " of the " + cairn.format.duration(model.spikes.late.time_ns) + " in which calls took too long." : "";
    const figure = el("figure", { class: "leading of-spike" }, strip, box,
      el("figcaption", null, cairn.link(route, pic.interval(s.interval_ns) + " in " + s.peak.function), s.open ? ", which has not ended: its callers are above it." : ": its callers are above it, the calls in it below.", explained,
        strip ? [" ", cairn.link({ view: "timeline" }, "The whole run"), " is above."] : null));
    return watched(figure, function () {
      if (!box.isConnected) return;
      pic.draw(box, s, bars, pic.span(s, bars, "peak"), null);
      if (!strip) return;
      const end = Math.max(1, run.end), height = 24 + 26 * (run.frames || []).length;
      cairn.lanes.axis(cairn.bars.fit(strip, figure.clientWidth, height), run, { from: 0, to: end, width: figure.clientWidth }, height, {});
    });
  }

  /** time is the calls of the logs over the time of the run. */
  function time(model, ctx) {
    const run = model.timeline;
    if (!run || model.spikes || !run.lanes.some(function (l) { return l.calls; })) return null;
    const lanes = cairn.lanes.layout(run, new Set(run.lanes.length > 6 ? run.lanes.keys() : [])), view = { from: 0, to: Math.max(1, run.end), width: 100 };
    const canvas = el("canvas", { role: "img", "aria-label": "Calls over time; the table of functions has the same data", onclick() { ctx.go({ view: "timeline" }); } });
    const axis = el("canvas", { "aria-hidden": "true" }), caption = el("figcaption"), figure = el("figure", { class: "leading of-time" }, axis, canvas, caption);
    const store = run.served ? cairn.tiles.Tiles(run, changed) : cairn.tiles.Packs(ctx.load, changed);
    const height = Math.min(TALL, Math.max(60, lanes.height)), hidden = run.lanes.length - cairn.lanes.visible(lanes, 0, height).length;
    const write = function (n) { return run.unit === "ns" ? cairn.format.duration(n) : cairn.format.count(n) + " ticks"; };
    caption.append(cairn.link({ view: "timeline" }, "Time line"), ": the calls of " + cairn.format.plural(run.lanes.length - hidden, "thread") + " in " + write(run.end) + (hidden ? "; " + cairn.format.plural(hidden, "more thread") + (hidden === 1 ? " is" : " are") + " below." : "."));
    let asked = 0;
    function changed(e) {
      if (e) caption.textContent = "The time line cannot be read: " + (e.message || e);
      else if (!asked) asked = requestAnimationFrame(paint);
    }
    function paint() {
      asked = 0;
      if (!canvas.isConnected) return;
      view.width = figure.clientWidth;
      cairn.lanes.axis(cairn.bars.fit(axis, view.width, 24), { unit: run.unit }, view, 24, {});
      figure.dataset.bars = cairn.lanes.draw(cairn.bars.fit(canvas, view.width, height), run, store, lanes, view, 0, height, { match: null, chosen: null, selection: null, spike: null });
      const g = canvas.getContext("2d"), c = cairn.bars.theme();
      g.font = "11px " + c.sans;
      g.textBaseline = "middle";
      g.fillStyle = c.ink;
      for (const l of cairn.lanes.visible(lanes, 0, height)) g.fillText(l.of.name, 6, l.top + cairn.lanes.HEAD / 2);
    }
    return watched(figure, paint);
  }

  /** flame is a flame graph of the calls of the logs, or of the samples. */
  function flame(model, ctx) {
    const graph = model.flame && model.flame.graphs.length ? model.flame.graphs[0] : null, sampled = !graph && model.samples && model.samples.stacks.length;
    if (!graph && !sampled) return null;
    const route = graph ? { view: "flame", what: "calls0" } : { view: "samples" };
    const state = { tree: null, zoom: null, chosen: null, hit: null, by: "total", side: "both", change: "self", part: [0, 1], fn: -1, boxes: [] };
    const canvas = el("canvas", { role: "img", "aria-label": "Flame graph; the table of functions has the same data" }), tip = el("div", { class: "tl-tip", hidden: true });
    const caption = el("figcaption", null, "Reading…"), figure = el("figure", { class: "leading of-stacks" }, canvas, caption, tip), F = cairn.flamebars;
    const paint = function () {
      if (!state.tree || !canvas.isConnected) return;
      F.arrange(state, figure.clientWidth);
      figure.dataset.bars = F.paint(state, canvas, figure.clientWidth, Math.min(MOST, state.rows) * F.ROW + 2, 0);
    };
    const at = function (e) {
      const area = canvas.getBoundingClientRect(), x = (e.clientX - area.left) / area.width, row = Math.floor((e.clientY - area.top - 1) / F.ROW);
      return state.boxes.find(function (b) { return b.row === row && x >= b.x && x < b.x + b.width; });
    };
    canvas.addEventListener("pointermove", function (e) {
      const b = at(e);
      canvas.style.cursor = b ? "pointer" : "";
      tip.hidden = !b;
      if (!b) return;
      tip.replaceChildren(el("b", null, F.nameOf(state, b.node)), el("table", null, cairn.flamecard.rows(state.tree, b.node).map(function (r) { return el("tr", null, el("td", { class: "soft" }, r[0]), el("td", null, r[1])); })));
      tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.max(4, Math.min(e.clientY + 18, innerHeight - tip.offsetHeight - 8)) + "px";
    });
    canvas.addEventListener("pointerleave", function () { tip.hidden = true; });
    canvas.addEventListener("click", function (e) {
      const b = at(e);
      ctx.go(Object.assign({}, route, { view: "flame", what: graph ? "calls0" : "samples", zoom: b ? F.pathOf(b.node) : "" }));
    });
    (graph ? ctx.load(graph.path).then(cairn.trees.fromData) : Promise.resolve(cairn.trees.fromSamples(model))).then(function (tree) {
      state.tree = tree;
      paint();
      const deeper = state.rows > MOST ? ", the outermost " + MOST + " of " + state.rows + " levels" : "";
      caption.replaceChildren(cairn.link(route, graph ? graph.title : "Samples"), ": each function below its callers, as wide as " + (graph ? "the time of its calls" : "its samples") + deeper + ".");
    }, function (e) { caption.textContent = "The flame graph cannot be read: " + (e.message || e); });
    return watched(figure, paint);
  }

  /** code is the functions with probes, by whether they ran. */
  function code(model, ctx) {
    const drawn = cairn.treemap.draw(model, function (f) { ctx.go({ view: "function", f: f.key }); });
    return drawn && { element: drawn, destroy() {} };
  }

  /** pictures returns the pictures that there are, the leading one first. */
  function pictures(model, ctx) { return [spike, time, flame, code].map(function (of) { return of(model, ctx); }).filter(Boolean); }

  return { pictures: pictures };
})();
