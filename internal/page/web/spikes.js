/* spikes.js shows the calls that took too long, each with its stack over time and its blame. */
(function () {
  const el = cairn.el, format = cairn.format;

  /** shade is the number of a function's colour, as in all pictures of stacks. */
  function shade(name) {
    let h = 2166136261;
    for (const c of new TextEncoder().encode(name)) h = Math.imul(h ^ c, 16777619);
    h >>>= 0;
    return ((h ^ (h >>> 16)) >>> 0) % 24;
  }
  cairn.shade = shade;

  const place = function (s) { return s.file ? format.base(s.file) + (s.line ? ":" + s.line : "") : s.module ? format.base(s.module) : ""; };

  function siteLink(model, s) {
    const id = cairn.index(model).bySymbol.get(s.symbol || s.function);
    return id !== undefined ? cairn.functionLink(model, id) : el("span", { class: "fn" }, s.function);
  }
  function sourceLink(model, s) {
    if (!s.file || !model.files.some(function (f) { return f.path === s.file && f.data; })) return el("span", { class: "place", title: s.file || s.module }, place(s));
    return cairn.link({ view: "source", file: s.file, line: s.line }, place(s), { class: "place" });
  }

  function facts(s, pic) {
    const list = [(s.thread || "thread " + s.tid) + " of process " + s.pid, "at " + (s.at_ns / 1e9).toFixed(3) + " s"];
    if (s.frame) list.push("frame " + s.frame);
    if (s.seen > 1) list.push("seen " + format.count(s.seen) + " times");
    if (s.caller) list.push("a caller: " + pic.interval(s.caller.self_ns) + " of it in no long call");
    if (s.blind_ns) list.push("the clock was late for " + pic.duration(s.blind_ns) + " of it");
    return list.concat(s.remarks || []).join(" · ");
  }

  function stack(model, s, pic) {
    const ends = new Map(s.parents.filter(function (p) { return p.index >= 0; }).map(function (p) { return [p.index, p]; }));
    const rows = s.stack.map(function (f, i) {
      const peak = i === s.stack.length - 1, end = ends.get(i);
      const time = !f.so_far_ns && !peak ? "no probe" : (peak ? pic.interval(s.interval_ns) : "so far " + pic.interval(f.so_far_ns)) + (end ? ", took " + pic.interval(end.interval_ns) : "") + (f.abandoned ? ", no end seen" : "");
      return [
        el("tr", { class: peak ? "peak" : "" }, el("td", null, siteLink(model, f), f.section ? " [" + f.section + "]" : "", f.desc ? el("q", null, f.desc) : null,
          (f.inlined || []).map(function (n) { return el("div", { class: "inl" }, "↳ inlined: ", siteLink(model, n)); })),
        el("td", { class: "when" }, time), el("td", null, sourceLink(model, f))),
        f.gap ? el("tr", null, el("td", { class: "soft", colspan: "3" }, "calls left out")) : null];
    });
    const children = s.children.map(function (c) {
      return el("tr", { class: "child" }, el("td", null, "of which ", siteLink(model, c), c.section ? " [" + c.section + "]" : ""),
        el("td", { class: "when" }, pic.interval(c.interval_ns) + (c.share >= 0 ? ", " + Math.round(100 * c.share) + " %" : "") + (c.calls > 1 ? " in " + format.count(c.calls) + " calls, the longest " + pic.interval(c.longest_ns) : "")), el("td", null, sourceLink(model, c)));
    });
    return el("table", { class: "stack" }, el("thead", null, el("tr", null, ["Function, outermost first", "Time", "Line"].map(function (t) { return el("th", { scope: "col" }, t); }))), el("tbody", null, rows, children));
  }

  function legend(s, pic) {
    const list = [["peak", s.caller ? "the caller: the calls below do not explain its time" : "the peak: the first call to take too long"], ["limit", "the threshold, " + pic.duration(s.threshold_ns)], ["fade", "the call began, or ended, in here"]];
    if (s.children.length) list.push(["child", "calls below it: their length is known, not their place"]);
    if ((s.stalls || []).length) list.push(["blind", "the clock stood still"]);
    return el("p", { class: "legend spikelegend" }, list.map(function (l) { return el("span", null, el("i", { class: l[0] }), l[1]); }));
  }

  /** detail shows one spike; it returns what draws its picture anew. */
  function detail(box, model, s, n, state) {
    const pic = cairn.spikePicture, bars = pic.bars(s), picture = el("div", { class: "picture" }), calls = el("div", { class: "picture calls" });
    const zooms = [["peak", "Peak"], ["callers", "Callers"], ["all", "All"]].concat(s.timeline ? [["window", "What led to it"]] : []);
    const choice = el("div");
    const paint = function () {
      if (!picture.isConnected) return;
      const zoom = state.zoom === "window" && !s.timeline ? "peak" : state.zoom, view = pic.span(s, bars, zoom);
      pic.draw(picture, s, bars, view, null);
      if (s.timeline) pic.drawCalls(calls, s, view, null);
      choice.replaceChildren(cairn.segmented("Part of time", zooms, zoom, function (z) {
        state.zoom = z;
        paint();
      }));
    };
    box.replaceChildren(
      el("div", { class: "title" }, el("h2", null, pic.interval(s.interval_ns) + " in ", siteLink(model, s.peak), s.desc ? el("q", null, s.desc) : null), el("p", { class: "soft" }, facts(s, pic))),
      s.why && s.why.text ? el("p", { class: "why" }, s.why.text) : "", choice, picture, legend(s, pic),
      s.timeline ? [el("p", { class: "soft" }, pic.aboutCalls(s)), calls] : "", stack(model, s, pic),
      (s.msgs || []).map(function (m) { return el("p", null, el("q", null, m)); }));
    paint();
    return paint;
  }

  cairn.view({
    id: "spikes", title: "Spikes", key: "k", order: 60,
    available(model) { return Boolean(model.spikes); },
    mount(root, ctx) {
      const model = ctx.model, groups = model.spikes.groups, pic = cairn.spikePicture, state = { zoom: "peak" };
      groups.forEach(function (s, i) {
        s.shades = s.stack.map(function (f) { return shade(f.function); });
        const t = model.spikes.timelines && model.spikes.timelines[i];
        if (t) {
          s.timeline = t;
          s.hues = t.names.map(shade);
        }
      });
      const longest = Math.max(1, ...groups.map(function (s) { return s.interval_ns[1]; }));
      const list = el("ol", { class: "spikelist", role: "listbox", tabindex: "0", "aria-label": "Spikes, the longest first" }), box = el("div", { class: "spike" });
      let current = 0, paint = function () {};
      list.append(...groups.map(function (s, i) {
        const callers = s.stack.slice(0, -1).reverse().map(function (f) { return f.function.replace(/\(.*$/, ""); });
        return el("li", { role: "option", id: "spike" + i, onclick() { choose(i); } },
          el("span", { class: "fn" }, s.peak.function), el("span", { class: "num" }, pic.interval(s.interval_ns)),
          el("span", { class: "weight" }, el("i", { style: { width: 100 * s.interval_ns[1] / longest + "%" } })),
          el("span", { class: "in" }, s.desc || (callers.length ? "in " + callers.slice(0, 3).join(", ") : ""), s.seen > 1 ? " · " + format.count(s.seen) + " ×" : ""));
      }));
      list.addEventListener("keydown", function (e) {
        const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
        if (!by || e.ctrlKey || e.metaKey) return;
        e.preventDefault();
        e.stopPropagation();
        choose(Math.max(0, Math.min(groups.length - 1, current + by)));
      });
      function choose(i) { ctx.go({ view: "spikes", n: String(i) }, { replace: true }); }
      const sug = model.spikes.suggestions;
      root.append(el("div", { class: "toolbar" }, el("h1", null, "Spikes"), el("p", { class: "tally" }, format.plural(groups.length, "stack") + (model.spikes.left ? ", " + format.count(model.spikes.left) + " more in the logs" : ""))),
        groups.length ? el("div", { class: "spikes" }, list, box) : el("p", { class: "empty" }, "No call took longer than its threshold."),
        el("div", { class: "cards" },
          sug.length ? el("section", { class: "card" }, el("h2", null, "Marks for calls that may be expected"), sug.map(function (m) {
            return el("div", { class: "markup" }, el("p", null, el("span", { class: "fn" }, m.function), el("span", { class: "place" }, m.file ? format.base(m.file) + (m.line ? ":" + m.line : "") : "")), el("code", null, m.markup), el("p", { class: "soft" }, m.why));
          })) : null,
          el("section", { class: "card" }, el("h2", null, "What the logs can show"), el("ul", { class: "sentences" }, model.spikes.reach.map(function (t) { return el("li", null, t); })))));
      const resized = new ResizeObserver(function () { paint(); });
      function update(route) {
        if (!groups.length) return;
        current = Math.max(0, Math.min(groups.length - 1, Number(route.n) || 0));
        [...list.children].forEach(function (li, i) { li.setAttribute("aria-selected", String(i === current)); });
        list.setAttribute("aria-activedescendant", "spike" + current);
        list.children[current].scrollIntoView({ block: "nearest" });
        paint = detail(box, model, groups[current], current, state);
      }
      update(ctx.route);
      resized.observe(box);
      return { update: update, destroy() { resized.disconnect(); } };
    },
  });
})();
