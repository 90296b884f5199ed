/* spikes.js shows the calls that took too long, each with its stack over time and its blame. */
(function () {
  const el = cairn.el, format = cairn.format;

  const shade = cairn.shade = function (name) { return cairn.trees.shade(name); };

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
    const list = [(s.open ? "has not ended · " : "") + (s.thread || "thread " + s.tid) + " of process " + s.pid, "at " + (s.at_ns / 1e9).toFixed(3) + " s"];
    if (s.open && s.open.more_threads) list.push("and " + format.plural(s.open.more_threads, "more thread") + " with the same stack");
    if (s.open && s.open.may_have_been_idle) list.push("it may have been idle");
    if (s.frame) list.push("frame " + s.frame);
    if (s.seen > 1) list.push("seen " + format.count(s.seen) + " times" + (s.worst_ns > s.interval_ns[0] ? ", worst at least " + pic.duration(s.worst_ns) : ""));
    if (s.frozen_ns) list.push("the process stood still for " + pic.duration(s.frozen_ns) + " of it");
    const why = (s.group_reasons || []).filter(function (r) { return r.calls; });
    if (s.seen > 1 && why.length) list.push(why.slice(0, 4).map(function (r) { return format.count(r.calls) + " " + r.reason + ", " + pic.duration(r.time_ns); }).join("; "));
    if (s.why && s.why.waited_at) list.push("waited at " + place(s.why.waited_at) + (s.why.waited_below || []).slice(0, 6).map(function (f) { return " > " + f.function; }).join(""));
    if (s.caller) list.push("a caller: " + pic.interval(s.caller.self_ns) + " of it in no long call");
    if (s.blind_ns) list.push("the clock was late for " + pic.duration(s.blind_ns) + " of it");
    return list.concat(s.remarks || []).join(" · ");
  }

  function stack(model, s, pic) {
    const ends = new Map(s.parents.filter(function (p) { return p.index >= 0; }).map(function (p) { return [p.index, p]; }));
    const rows = s.stack.map(function (f, i) {
      const peak = i === s.stack.length - 1, end = ends.get(i);
      const time = !f.so_far_ns && !peak ? "no probe" : (peak ? pic.interval(s.interval_ns) : "so far " + pic.interval(f.so_far_ns)) + (end ? ", took " + pic.interval(end.interval_ns) : "") + (f.abandoned ? ", no end seen" : "") + (peak && s.open ? ", HAS NOT ENDED" : "");
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
    const going = (s.open ? s.open.inner : []).map(function (f) {
      return el("tr", { class: "child" }, el("td", null, "in ", siteLink(model, f)), el("td", { class: "when" }, "goes on"), el("td", null, sourceLink(model, f)));
    });
    return el("table", { class: "stack" }, el("thead", null, el("tr", null, ["Function, outermost first", "Time", "Line"].map(function (t) { return el("th", { scope: "col" }, t); }))), el("tbody", null, rows, going, children));
  }

  function legend(s, pic) {
    const list = [["peak", s.open ? "the call that has not ended, to when it was last seen" : s.caller ? "the caller: the calls below do not explain its time" : "the peak: the first call to take too long"], ["limit", "the threshold, " + pic.duration(s.threshold_ns)], ["fade", "the call began, or ended, in here"]];
    if (s.children.length) list.push(["child", (s.caller ? "calls of the caller, by function" : "calls of the peak") + ": their length is known, not their place"]);
    list.push(["tick", "the clock moved" + (s.period_ns ? ", every " + pic.duration(s.period_ns) + " if it was not late" : "")]);
    if ((s.stalls || []).length) list.push(["blind", "the clock stood still"]);
    return el("p", { class: "legend spikelegend" }, list.map(function (l) { return el("span", null, el("i", { class: l[0] }), l[1]); }));
  }

  /** about tells spikes of one function apart: by what the program said, or the callers. */
  function about(s) {
    const callers = s.stack.slice(0, -1).reverse().map(function (f) { return f.function.replace(/\(.*$/, ""); });
    return s.desc || (callers.length ? "in " + callers.filter(function (f, i) { return f !== callers[i - 1]; }).slice(0, 4).join(", ") : "");
  }

  /** tipOf says what is known of a bar of a spike's picture, tipOfCall of one of the calls around it. */
  function tipOf(pic, b) {
    return [b.name, place(b.frame), b.kind === "call" && b.frame.so_far_ns ? "had run for " + pic.interval(b.frame.so_far_ns) + " when the peak ended" : "",
      b.took ? "took " + pic.interval(b.took) + (b.share > 0 ? ", " + Math.round(100 * b.share) + " % of the peak" : "") : "",
      b.kind !== "child" && !b.from ? "no probe: its time is not known" : "",
      b.frame.abandoned ? "no end seen: left by exception or longjmp, or has a threshold of its own" : ""];
  }
  function tipOfCall(pic, t, b) {
    return [t.names[b.n], b.c > 1 ? format.count(b.c) + " calls that were running when the clock moved, from " + pic.when(b.a) + " to " + pic.when(b.z)
      : "from about " + pic.when(b.a) + " to about " + pic.when(b.z) + ": " + pic.duration(b.z - b.a)];
  }

  /** pointer moves and scales what a picture shows, and tells of the bar at the mouse. */
  function pointer(box, tip, state, tell) {
    let drag = null;
    box.addEventListener("wheel", function (e) {
      if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX) && !e.altKey) return; // the page scrolls
      e.preventDefault();
      const [a, b] = state.view, at = a + (b - a) * (e.clientX - box.getBoundingClientRect().left) / box.clientWidth;
      const f = Math.exp((e.deltaY || e.deltaX) / 400);
      state.show([at - (at - a) * f, at + (b - at) * f]);
    }, { passive: false });
    box.addEventListener("pointerdown", function (e) { if (e.button === 0) drag = { x: e.clientX, view: state.view, moved: false }; });
    box.addEventListener("pointerup", function () { drag = null; });
    box.addEventListener("pointermove", function (e) {
      if (drag && e.buttons & 1) {
        if (!drag.moved && Math.abs(e.clientX - drag.x) < 3) return;
        drag.moved = true;
        const shift = (e.clientX - drag.x) / box.clientWidth * (drag.view[1] - drag.view[0]);
        state.show(drag.view.map(function (t) { return t - shift; }));
        return;
      }
      const lines = tell(e);
      tip.hidden = !lines;
      if (!lines) return;
      tip.replaceChildren(el("b", null, lines[0]), ...lines.slice(1).filter(Boolean).map(function (t) { return el("p", null, t); }));
      tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.max(4, Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 8)) + "px";
    });
    box.addEventListener("pointerleave", function () { tip.hidden = true; });
  }

  /** detail shows one spike in a part of time; it returns what draws its picture anew. */
  function detail(box, model, s, state, tip) {
    const pic = cairn.spikePicture, bars = pic.bars(s), picture = el("div", { class: "picture", role: "img", "aria-label": "The stack over time" }), calls = el("div", { class: "picture calls", role: "img", "aria-label": "The calls of the thread over time" });
    const zooms = [["peak", "Peak"], ["callers", "Callers"], ["all", "All"]].concat(s.timeline ? [["window", "What led to it"]] : []);
    const choice = el("div");
    const paint = function () {
      if (!picture.isConnected) return;
      const zoom = state.zoom === "window" && !s.timeline ? "peak" : state.zoom;
      state.view = state.part || pic.span(s, bars, zoom);
      pic.draw(picture, s, bars, state.view, state.found);
      if (s.timeline) pic.drawCalls(calls, s, state.view, state.found);
      choice.replaceChildren(cairn.segmented("Part of time", zooms, state.part ? "" : zoom, state.choose));
    };
    pointer(picture, tip, state, function (e) {
      const g = e.target.closest && e.target.closest("[data-bar]");
      return g && tipOf(pic, bars[Number(g.dataset.bar)]);
    });
    pointer(calls, tip, state, function (e) {
      const g = e.target.closest && e.target.closest("[data-call]");
      return g && tipOfCall(pic, s.timeline, s.timeline.bars[Number(g.dataset.call)]);
    });
    box.replaceChildren(
      el("div", { class: "title" }, el("h2", null, pic.interval(s.interval_ns) + " in ", siteLink(model, s.peak), s.desc ? el("q", null, s.desc) : null), el("p", { class: "soft" }, facts(s, pic))),
      s.open ? el("p", { class: "why" }, s.open.text) : s.why && s.why.text ? el("p", { class: "why" }, s.why.text) : "", choice, picture, legend(s, pic),
      s.timeline ? el("p", { class: "soft" }, pic.aboutCalls(s)) : "", s.timeline ? calls : "", stack(model, s, pic),
      ...(s.msgs || []).map(function (m) { return el("p", null, el("q", null, m)); }));
    paint();
    return paint;
  }

  let shown = null; // for keys

  cairn.view({
    id: "spikes", title: "Spikes", key: "k", order: 60,
    available(model) { return Boolean(model.spikes); },
    mount(root, ctx) {
      // Calls that have not ended are first in the list, and have the numbers after those of the groups.
      const model = ctx.model, ended = model.spikes.groups.length, groups = model.spikes.groups.concat(model.spikes.open || []), pic = cairn.spikePicture, tip = el("div", { class: "tl-tip", role: "tooltip", hidden: true });
      groups.forEach(function (s, i) {
        s.shades = s.stack.map(function (f) { return shade(f.function); });
        const t = model.spikes.timelines && model.spikes.timelines[i];
        if (t) {
          s.timeline = t;
          s.hues = t.names.map(shade);
        }
      });
      const state = {
        zoom: "peak", part: null, view: null, found: null,
        choose(z) { go({ zoom: z === "peak" ? "" : z, part: "" }); },
        show(part) {
          state.part = part;
          paint();
          keepPart();
        },
      };
      const keepPart = cairn.debounce(function () { if (root.isConnected && state.part) go({ part: state.part.map(Math.round).join("~") }, true); }, 250);
      const longest = Math.max(1, ...groups.map(function (s) { return s.interval_ns[1]; }));
      const list = el("ol", { class: "spikelist", role: "listbox", tabindex: "0", "aria-label": "Calls that have not ended, then spikes, each the longest first" }), box = el("div", { class: "spike" });
      let current = 0, paint = function () {}, route = ctx.route, key = "";
      const rows = groups.map(function (s, i) {
        return el("li", { role: "option", id: "spike" + i, title: [s.peak.function, place(s.peak), ...s.stack.slice(0, -1).reverse().slice(0, 12).map(function (f) { return "in " + f.function; })].filter(Boolean).join("\n"), onclick() { choose(i); } },
          el("span", { class: "fn" }, s.peak.function), el("span", { class: "num" }, pic.interval(s.interval_ns)),
          el("span", { class: "weight" }, el("i", { style: { width: 100 * s.interval_ns[1] / longest + "%" } })),
          el("span", { class: "in" }, s.open ? el("strong", null, "HAS NOT ENDED") : null, s.open && about(s) ? " · " : "", about(s), s.seen > 1 ? " · " + format.count(s.seen) + " ×" : ""));
      });
      const maybe = function (s) { return Boolean(s.open && s.open.may_have_been_idle); }, all = groups.map(function (_, i) { return i; });
      const order = all.filter(function (i) { return i >= ended && !maybe(groups[i]); }).concat(all.slice(0, ended), all.filter(function (i) { return maybe(groups[i]); }));
      list.append(...order.map(function (i) { return rows[i]; }));
      const seen = function () { return order.filter(function (i) { return !rows[i].hidden; }); };
      function step(by) {
        const left = seen(), at = left.indexOf(current);
        if (left.length) choose(left[at < 0 ? 0 : Math.max(0, Math.min(left.length - 1, at + by))]);
      }
      list.addEventListener("keydown", function (e) {
        const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
        if (!by || e.ctrlKey || e.metaKey) return;
        e.preventDefault();
        e.stopPropagation();
        step(by);
      });
      function go(changes, replace) { ctx.go(Object.assign({}, route, changes), { replace: replace }); }
      function choose(i) { go({ n: String(i), part: "" }, true); }
      const search = cairn.searchField("Search functions on stacks, or /regular expression/", route.q, cairn.debounce(function (q) { go({ q: q }, true); }, 120));
      const tally = el("p", { class: "tally", role: "status" }), late = model.spikes.late;
      const sug = model.spikes.suggestions;
      root.append(el("div", { class: "toolbar" }, el("h1", null, "Spikes"), groups.length ? search : null, tally),
        late ? el("p", { class: "late" }, cairn.meter([late.explained_ns, late.time_ns]), "The rows explain " + format.percent(late.explained_ns, late.time_ns) + " of the " + format.duration(late.time_ns) + " in which calls took too long.") : null,
        groups.length ? el("div", { class: "spikes" }, list, box) : el("p", { class: "empty" }, "No call took longer than its threshold."),
        el("div", { class: "cards" },
          sug.length ? el("section", { class: "card" }, el("h2", null, "Marks for calls that may be expected"), sug.map(function (m) {
            return el("div", { class: "markup" }, el("p", null, el("span", { class: "fn" }, m.function), el("span", { class: "place" }, m.file ? format.base(m.file) + (m.line ? ":" + m.line : "") : "")), el("code", null, m.markup), el("p", { class: "soft" }, m.why));
          })) : null,
          model.spikes.notes ? el("section", { class: "card" }, el("h2", null, "Not ranked"), model.spikes.notes.map(function (t) { return el("p", { class: t.startsWith("   ") ? "deep" : "" }, t.trim()); })) : null,
          el("section", { class: "card" }, el("h2", null, "What the logs can show"), el("ul", { class: "sentences" }, model.spikes.reach.map(function (t) { return el("li", null, t); })))), tip);
      const resized = new ResizeObserver(function () { paint(); });

      /** filter shows the spikes with a function that is searched for. */
      function filter(q) {
        let test = null;
        search.removeAttribute("aria-invalid");
        try {
          if (q) test = cairn.matcher(q);
        } catch (e) {
          search.setAttribute("aria-invalid", "true");
          tally.textContent = e.message;
          return;
        }
        state.found = test;
        groups.forEach(function (s, i) { rows[i].hidden = test !== null && !(s.stack.some(function (f) { return test(f.function); }) || s.children.some(function (f) { return test(f.function); }) || test(s.desc || "")); });
        tally.textContent = (test ? format.count(seen().length) + " of " : "") + format.plural(ended, "stack") + (groups.length > ended ? ", " + format.plural(groups.length - ended, "call") + " not ended" : "") + (model.spikes.open_left ? ", " + format.count(model.spikes.open_left) + " more not ended" : "") + (model.spikes.left ? ", " + format.count(model.spikes.left) + " more in the logs" : "");
      }

      function update(next) {
        route = next;
        if ((route.q || "") !== search.value) search.value = route.q || "";
        filter(route.q || "");
        if (!groups.length) return;
        current = Math.max(0, Math.min(groups.length - 1, route.n ? Number(route.n) || 0 : order[0]));
        rows.forEach(function (li, i) { li.setAttribute("aria-selected", String(i === current)); });
        list.setAttribute("aria-activedescendant", "spike" + current);
        rows[current].scrollIntoView({ block: "nearest" });
        const part = (route.part || "").split("~").map(Number);
        state.part = part.length === 2 && part[1] > part[0] ? part : null;
        state.zoom = route.zoom || "peak";
        tip.hidden = true;
        if (key === String(current)) return paint();
        key = String(current);
        paint = detail(box, model, groups[current], state, tip);
      }
      shown = { any: groups.length > 0, search: search, step: step, scale(f) { state.show(state.view.map(function (t) { return t * f; })); }, all() { search.value = ""; go({ q: "", zoom: "", part: "" }); } };
      update(ctx.route);
      resized.observe(box);
      return { update: update, destroy() { resized.disconnect(); } };
    },
  });
  const on = function (name, help, run) { cairn.key(name, help, function () { return shown.any ? run() : false; }, { view: "spikes" }); };
  on("/", "Search functions on stacks", function () { shown.search.focus(); });
  on("ArrowDown", "Next spike", function () { shown.step(1); });
  on("ArrowUp", "Spike before", function () { shown.step(-1); });
  on("+", "Closer", function () { shown.scale(0.7); });
  on("-", "Farther", function () { shown.scale(1.4); });
  on("Escape", "The peak again", function () { shown.all(); });
})();
