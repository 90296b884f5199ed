/* function.js is one function: its numbers, who calls it and whom it calls, its source. */
(function () {
  const el = cairn.el, format = cairn.format;

  function numbers(model, f) {
    const list = [], unit = model.calls && model.calls.unit;
    const time = function (n) { return unit === "ns" ? format.duration(n) : format.count(n) + " ticks"; };
    const add = function (name, value, note) { list.push(cairn.stat(name, value, note)); };
    if (f.calls !== undefined) add("Calls", [cairn.atLeast(f.at_least && f.calls > 0), format.count(f.calls)], f.at_least && f.calls ? "at least" : "");
    if (f.mode) add("Runs", format.count(f.runs || 0), "of " + format.count(f.of_runs || 0));
    if (f.lines) {
      const all = f.lines[0] + f.lines[1] + f.lines[2];
      add("Lines", format.percent(f.lines[0], all), f.lines[0] + " ran, " + f.lines[1] + " did not" + (f.lines[2] ? ", " + f.lines[2] + " unknown" : ""));
    }
    if (f.blocks) add("Blocks", format.percent(f.blocks[0], f.blocks[1]), f.blocks[0] + " of " + f.blocks[1]);
    if (f.time) {
      const sum = function (n) { return format.sum(n, model.calls.step, time); };
      add("Self", sum(f.time.self), format.plural(f.time.calls, "call"));
      add("Total", sum(f.time.total), f.time.no_exit ? "at least: " + format.plural(f.time.no_exit, "call") + " without end" : "with callees");
      if (f.time.waits) add("Waits", time(f.time.waits), "part of the total");
      const single = function (n) { return format.coarse(n, model.calls.step, time); };
      if (f.time.median !== undefined) add("A call", single(f.time.median), "p99 " + single(f.time.p99) + ", max " + single(f.time.max));
    }
    if (f.samples) add("Samples", format.count(f.samples.self), format.count(f.samples.total) + " with callees" + (f.samples.restored ? ", " + format.count(f.samples.restored) + " restored" : ""));
    if (f.spikes) add("Spikes", format.duration(f.spikes.worst_ns), format.plural(f.spikes.count, "call") + " that took too long" + (f.spikes.open ? ", " + format.count(f.spikes.open) + " not ended" : ""));
    if (f.order) add("First run", format.count(Math.round(f.order)), "place among first executions");
    if (f.size) add("Size", format.bytes(f.size), "at " + format.hex(f.address));
    if (f.change && f.change.before !== undefined) add("Before", format.mean(f.change.before || 0), "calls in a run; now " + format.mean(f.change.now || 0));
    return el("dl", { class: "stats" }, list);
  }

  function edges(model, list, at, title, empty) {
    const x = cairn.index(model), most = 12, unit = model.calls && model.calls.unit;
    const row = function (e) {
      const other = model.functions[e[at]];
      const value = e.total ? (unit === "ns" ? format.duration(e.total) : format.short(e.total)) : e.samples ? format.count(e.samples) : e.calls ? format.count(e.calls) : "";
      return el("li", { class: "edge " + (e.kind || "logged") + (e.restored ? " restored" : "") },
        el("span", { class: "way", title: cairn.evidence(e), role: "img", "aria-label": cairn.evidence(e) }),
        cairn.functionLink(model, other.id), el("span", { class: "num" }, value));
    };
    const ul = el("ul", { class: "plain edges" }, list.slice(0, most).map(row));
    const more = list.length - most;
    return el("section", null, el("h2", null, title, el("span", { class: "count" }, list.length ? format.count(list.length) : "")),
      list.length ? ul : el("p", { class: "soft" }, empty),
      more > 0 ? el("button", { type: "button", class: "more", onclick(e) {
        ul.append(...list.slice(most).map(row));
        e.target.remove();
      } }, format.count(more) + " more") : null);
  }

  /** times is how long single calls took. */
  function times(model, f) {
    if (!f.time || !f.time.histogram) return null;
    const write = function (n) { return model.calls.unit === "ns" ? format.duration(n) : format.count(n) + " ticks"; };
    return el("section", null, el("h2", null, "How long calls took"), cairn.histogram.draw(f.time, model.calls.step, write));
  }

  function parts(model, f) {
    if (!f.parts) return null;
    return el("section", null, el("h2", null, "Pieces of code"),
      el("p", { class: "soft" }, "The compiler made " + (f.parts.length === 1 ? "one variant" : f.parts.length + " pieces of code") + " of it."),
      el("ul", { class: "plain pieces" }, f.parts.map(function (p) {
        return el("li", null, el("span", { class: "mark " + (p.runs ? "ran" : "missed") }), el("span", { class: "mono", title: p.symbol + " at " + format.hex(p.address) }, p.symbol),
          el("small", null, (p.calls !== undefined ? format.plural(p.calls, "call") + ", " : "") + format.bytes(p.size)));
      })));
  }

  function inlinedInto(model, f) {
    if (!f.inlined) return null;
    return el("section", null, el("h2", null, "Inlined into", el("span", { class: "count" }, format.count(f.inlined.into.length))),
      el("p", { class: "soft" }, format.plural(f.inlined.copies, "copy").replace("copys", "copies") + ", code of " + format.count(f.inlined.ran) + " ran."),
      el("ul", { class: "plain edges" }, f.inlined.into.slice(0, 30).map(function (id) { return el("li", { class: "edge inline" }, el("span", { class: "way" }), cairn.functionLink(model, id)); })),
      f.inlined.into.length > 30 ? el("p", { class: "soft" }, "and " + format.count(f.inlined.into.length - 30) + " more") : null);
  }

  function onPages(model, f) {
    if (!model.pages || !f.address || !f.size) return null;
    const rows = model.pages.layouts.map(function (l, i) {
      const on = [];
      l.pages.forEach(function (ids, n) { if (ids.includes(f.id)) on.push(n); });
      const touched = on.filter(function (n) { return model.pages.scenarios.some(function (s) { return s.touch[i].steps[n] > 0; }); }).length;
      return on.length ? el("li", null, el("span", null, format.plural(on.length, "page") + " " + l.label), el("small", null, touched + " touched")) : null;
    });
    return el("section", null, el("h2", null, cairn.link({ view: "pages", f: f.key }, "Pages")), el("ul", { class: "plain pieces" }, rows));
  }

  function spikesOf(model, f) {
    if (!f.spikes) return null;
    return el("section", null, el("h2", null, "Spikes"), el("ul", { class: "plain pieces" }, f.spikes.groups.slice(0, 10).map(function (g) {
      const s = model.spikes.groups[g];
      return el("li", null, cairn.link({ view: "spikes", n: String(g) }, format.duration(s.interval_ns[0])), el("small", null, "seen " + format.count(s.seen) + " ×, " + (s.thread || "thread " + s.tid)));
    })));
  }

  function badges(model, f) {
    const list = [];
    if (f.absent) list.push(f.runs ? "ran where it was inlined" : f.unknown ? "may have run" : "did not run", f.absent + (f.note ? ": " + f.note : ""));
    else if (!f.mode && f.inlined) list.push("only inlined");
    else if (cairn.unprobed(model, f)) list.push("no probes");
    else if (f.mode && !f.runs) list.push("did not run");
    if (f.parts && f.parts.length > 1) list.push("split by the compiler");
    if (f.mode) list.push("mode " + f.mode);
    if (model.modules.length > 1 && f.module >= 0) list.push(model.modules[f.module].name);
    return list.map(function (t) { return el("span", { class: "badge" + (t === "did not run" ? " warn" : "") }, t); });
  }

  cairn.view({
    id: "function", title: "Function", hidden: true, parent: "functions",
    available(model) { return model.functions.length > 0; },
    mount(root, ctx) {
      const model = ctx.model, x = cairn.index(model);
      let shown = -1, view = null, name = "Function";
      function update(route) {
        const id = x.byKey.has(route.f) ? x.byKey.get(route.f) : x.bySymbol.has(route.f) ? x.bySymbol.get(route.f) : -1;
        if (id === shown && id >= 0) return;
        if (view) view.destroy();
        view = null;
        shown = id;
        window.scrollTo(0, 0);
        if (id < 0) {
          name = "Function";
          root.replaceChildren(el("p", { class: "empty" }, "There is no function " + (route.f || "") + " in this report."));
          return;
        }
        const f = model.functions[id];
        name = x.short(id);
        const code = el("div", { class: "source" }, el("p", { class: "empty" }, "Loading its source …"));
        root.replaceChildren(
          el("div", { class: "title" }, el("h1", { class: "mono" }, x.full(id)),
            el("p", { class: "under" }, f.file >= 0 ? cairn.link({ view: "source", file: model.files[f.file].path, line: f.line }, cairn.placeOf(model, f)) : el("span", { class: "soft" }, "source unknown"),
              model.edges.length ? cairn.link({ view: "graph", f: f.key }, "call graph") : null, badges(model, f))),
          numbers(model, f),
          el("div", { class: "columns" },
            el("div", { class: "main" },
              times(model, f),
              f.bits ? el("section", { class: "bits" }, el("h2", null, "Blocks"), cairn.blocks(f.bits, f.blocks[0] + " of " + f.blocks[1] + " blocks ran")) : null,
              el("section", null, el("h2", null, "Source"), code)),
            el("aside", null,
              edges(model, x.callers(id), "from", "Callers", f.runs ? "None is known: the caller has no probes, or called by a pointer." : x.ran(f) ? "None is known." : "None: it did not run."),
              edges(model, x.callees(id), "to", "Callees", "None is known."),
              parts(model, f), inlinedInto(model, f), spikesOf(model, f), onPages(model, f))));
        if (f.file < 0 || !f.line) {
          code.replaceChildren(el("p", { class: "empty" }, "Where it is defined is not known" + (f.mode ? ": give the binary with debug information." : ".")));
          return;
        }
        const lines = Math.max(1, f.end - f.line + 1) + 6;
        cairn.sourceOf(code, ctx, f.file, { from: f.line - 4, to: f.end + 2, own: f.key, height: "min(" + lines * 20 + "px, max(320px, calc(100vh - 330px)))" })
          .then(function (v) {
            if (shown === id) view = v;
            else if (v) v.destroy();
          });
      }
      update(ctx.route);
      return { update: update, title: function () { return name; }, destroy() { shown = -2; if (view) view.destroy(); } };
    },
  });
})();
