/*
 * flame.js is the view of flame graphs: of logs of calls, of a part of the time line, of samples,
 * of the difference of two logs. A route has what (which input), from and to, fn (whose callers
 * and callees are shown), mode, by (calls), q (what is searched for), zoom (the bar that is as
 * wide as the view: its place among its siblings, and that of each of its callers).
 */
(function () {
  const ROW = 19;
  const el = cairn.el;

  /** inputs lists what there are graphs of: {id, title, load() -> Promise of a tree}. */
  function inputs(ctx) {
    const m = ctx.model, r = ctx.route, list = [];
    const t = m.timeline;
    if (t && r.from !== undefined && Number(r.to) > Number(r.from)) {
      const range = { from: Math.max(0, Math.floor(Number(r.from))), to: Math.min(t.end, Math.ceil(Number(r.to))) };
      list.push({ id: "part", title: "Part of the time line, " + (t.unit === "ns" ? cairn.format.duration(range.to - range.from) : range.to - range.from + " ticks"), load() { return part(ctx, range); } });
    }
    for (const [i, g] of (m.flame && m.flame.graphs || []).entries()) {
      list.push({ id: "calls" + i, title: g.title, load() { return ctx.load(g.path).then(cairn.trees.fromData); } });
    }
    if (!list.length && t) list.push({ id: "part", title: "All of the time line", load() { return part(ctx, { from: 0, to: Math.max(1, t.end) }); } });
    if (m.samples && m.samples.stacks.length) list.push({ id: "samples", title: "Samples", load() { return Promise.resolve(cairn.trees.fromSamples(m)); } });
    return list;
  }

  /** part is the tree of a part of the time line. */
  function part(ctx, range) {
    return new Promise(function (done, failed) {
      const t = ctx.model.timeline;
      const store = t.served ? null : cairn.tiles.Packs(ctx.load, attempt);
      function attempt(e) {
        if (e) return failed(e);
        cairn.rangeTree(ctx, store, range, true, t.level, null).then(function (tree) { if (tree) done(tree); }, failed);
      }
      attempt();
    });
  }

  function Flame(root, ctx) {
    const state = { tree: null, zoom: null, chosen: null, query: "", closed: false, by: "total", hover: null, boxes: [] };
    let asked = 0, list = inputs(ctx), input = null;

    const select = el("select", { "aria-label": "Input", onchange() { ctx.go(Object.assign({}, ctx.route, { view: "flame", what: select.value, fn: "", zoom: "" })); } });
    const search = el("input", { type: "search", placeholder: "Search functions (f)", "aria-label": "Search functions", oninput() {
      find(search.value);
      keepQuery();
    } });
    const keepQuery = cairn.debounce(function () { if (!state.closed) ctx.go(Object.assign({}, current(), { q: search.value }), { replace: true }); }, 250);
    const modes = [["stacks", "Stacks"], ["sandwich", "Callers and callees"]].map(function (m) {
      return el("button", { type: "button", "data-mode": m[0], onclick() { ctx.go(Object.assign({}, current(), { mode: m[0] === "stacks" ? "" : m[0] })); } }, m[1]);
    });
    const timeButton = el("button", { type: "button", title: "The same calls in the order of time", onclick: toTime }, "In time order");
    const measures = [["total", "Time"], ["calls", "Calls"]].map(function (m) {
      return el("button", { type: "button", "data-by": m[0], onclick() { ctx.go(Object.assign({}, current(), { by: m[0] === "total" ? "" : m[0] })); } }, m[1]);
    });
    const measureGroup = el("span", { class: "group" }, measures);
    const reset = el("button", { type: "button", title: "Show all (Escape)", onclick() { zoom(null); } }, "All");
    const say = el("span", { class: "tl-say", role: "status" });
    const canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "Flame graph. Arrows move from bar to bar, Enter zooms in, Escape out; the table has the same functions." });
    const box = el("div", { class: "tl-box" }, el("div", { class: "tl-scroll", onscroll: draw }, el("div", { class: "tl-space" }, canvas)));
    const scroll = box.firstChild;
    const tip = el("div", { class: "tl-tip", hidden: true });
    const note = el("p", { class: "tl-note" });
    const legend = el("p", { class: "tl-note tl-legend" });
    const card = el("section", { class: "tl-card", "aria-live": "polite" });
    const tableRoot = el("div", null);
    const table = cairn.costs.Table(tableRoot, { pick: function (name) { ctx.go(Object.assign({}, current(), { mode: "sandwich", fn: state.tree.names[name] })); } });
    canvas.style.position = "sticky";
    canvas.style.top = "0";
    cairn.set(root, null, [el("h1", { class: "unseen" }, "Flame graph"),
      el("div", { class: "tl-bar" }, select, search, el("span", { class: "group" }, modes, timeButton), measureGroup, el("span", { class: "group" }, reset), say),
      box, note, legend, el("div", { class: "tl-below" }, el("section", null, el("h2", null, "Functions"), tableRoot), card), tip]);

    function current() { return Object.assign({}, ctx.route, { view: "flame" }); }

    function text(key, v) { return cairn.costs.text(state.tree, key, v) + (key !== "calls" && state.tree.unit !== "ns" ? " " + state.tree.unit : ""); }

    // The bars: {node, x, width (0 to 1 of what is shown), y (rows), up (callers, drawn upwards)}.

    function weight(n) {
      const v = state.by === "calls" ? n.all : n.total;
      return v.length > 1 ? Math.max(v[0], v[1]) : v[0];
    }

    function place(node, x, width, row, dir, boxes) {
      const own = weight(node);
      const children = node.children.slice().sort(function (a, b) { return weight(b) - weight(a); });
      const sum = Math.max(own, children.reduce(function (s, c) { return s + weight(c); }, 0));
      let at = x;
      for (const c of children) {
        const w = sum ? width * weight(c) / sum : 0;
        if (w * Math.max(400, canvas.clientWidth) < 0.3) break; // they are in order of width
        boxes.push({ node: c, x: at, width: w, row: row + dir });
        place(c, at, w, row + dir, dir, boxes);
        at += w;
      }
    }

    function arrange() {
      const boxes = [];
      state.middle = null;
      const t = state.tree;
      const fn = ctx.route.mode === "sandwich" ? t.names.indexOf(ctx.route.fn) : -1;
      if (fn >= 0) {
        const both = cairn.trees.sandwich(t, fn);
        place(both.callers, 0, 1, 0, -1, boxes);
        const top = boxes.reduce(function (least, b) { return Math.min(least, b.row); }, 0);
        boxes.push({ node: both.callees, x: 0, width: 1, row: 0, whole: true });
        place(both.callees, 0, 1, 0, 1, boxes);
        for (const b of boxes) b.row -= top;
        state.middle = -top;
        state.whole = both.callees;
      } else {
        const base = state.zoom || t.root;
        const above = [];
        for (let n = base; n; n = n.parent) above.unshift(n);
        for (const [i, n] of above.entries()) boxes.push({ node: n, x: 0, width: 1, row: i, whole: n !== base });
        place(base, 0, 1, above.length - 1, 1, boxes);
        state.whole = t.root;
      }
      state.boxes = boxes;
      state.rows = boxes.reduce(function (most, b) { return Math.max(most, b.row + 1); }, 1);
    }

    function nameOf(n) {
      if (n === state.tree.root) return "all";
      return n.name < 0 ? cairn.format.plural(1, "rarer stack").replace("1 rarer stack", "rarer stacks") : state.tree.names[n.name];
    }

    function fill(c, n) {
      const t = state.tree;
      if (n === t.root) return c.panel;
      const name = nameOf(n);
      if (state.query) return name.toLowerCase().includes(state.query) ? c.mark : c["bar-dim"];
      if (t.sides.length === 2) {
        const a = n[state.by][0], b = n[state.by][1];
        const off = a + b ? (b - a) / Math.max(a, b) : 0;
        return mix(c["bar-dim"], off > 0 ? c.worse : c.better, Math.min(1, Math.abs(off)) * 0.65);
      }
      if (n.name >= 0 && t.kinds && t.kinds[n.name]) return c["bar-" + t.kinds[n.name]];
      return n.name < 0 ? c["bar-dim"] : c.shades[t.shades[n.name]];
    }

    function mix(a, b, share) {
      const part = function (s, i) { return parseInt(s.slice(1 + 2 * i, 3 + 2 * i), 16); };
      return "rgb(" + [0, 1, 2].map(function (i) { return Math.round(part(a, i) + (part(b, i) - part(a, i)) * share); }).join(" ") + ")";
    }

    function draw() { if (!asked) asked = requestAnimationFrame(paint); }

    function paint() {
      asked = 0;
      if (state.closed || !state.tree) return;
      const c = cairn.bars.theme();
      scroll.style.height = "min(62vh, " + (state.rows * ROW + 6) + "px)";
      const width = scroll.clientWidth, height = scroll.clientHeight, top = scroll.scrollTop;
      scroll.firstChild.style.height = Math.max(height, state.rows * ROW + 4) + "px";
      const g = cairn.bars.fit(canvas, width, height);
      g.fillStyle = c.paper;
      g.fillRect(0, 0, width, height);
      const batch = cairn.bars.Batch(g);
      for (const b of state.boxes) {
        const y = b.row * ROW - top + 1;
        if (y + ROW < 0 || y > height) continue;
        const colour = fill(c, b.node);
        batch.bar(b.x * width, y, Math.max(0.5, b.width * width), ROW - 1, colour, b.width * width >= 20 ? nameOf(b.node) : null, colour === c.mark ? c["mark-ink"] : state.query && colour === c["bar-dim"] ? c.soft : c["bar-ink"]);
        if (b.node === state.chosen || b.whole && state.middle !== null) batch.frame(b.x * width, y, b.width * width, ROW - 1, b.node === state.chosen ? c.ink : c.accent);
      }
      root.dataset.bars = batch.draw();
    }

    function show() {
      const t = state.tree;
      if (!t) return;
      arrange();
      for (const b of modes) b.setAttribute("aria-pressed", String((b.dataset.mode === "sandwich") === (state.middle !== null)));
      for (const b of measures) b.setAttribute("aria-pressed", String(b.dataset.by === state.by));
      measureGroup.hidden = t.unit === "samples" || t.approximate;
      timeButton.hidden = !ctx.model.timeline || input.id !== "part" && (!input.id.startsWith("calls") || t.sides.length === 2);
      reset.disabled = !state.zoom && state.middle === null;
      const sandwich = ctx.route.mode === "sandwich";
      note.textContent = [t.approximate ? cairn.approximate(t) : "",
        t.merged ? cairn.format.plural(t.merged, "stack") + " with little time are merged." : "", ...t.notes,
        sandwich && state.middle === null ? "Choose a function in the table." : "",
        t.sides.length === 2 ? t.sides[0] + " is compared with " + t.sides[1] + ": more in red, less in green." : ""].filter(Boolean).join(" ");
      const kinds = [["restored", "restored: tail calls had removed these frames"], ["inlined", "inlined"]].filter(function (k) { return t.kinds && t.kinds.includes(k[0]); });
      legend.replaceChildren(...kinds.flatMap(function (k) { return [el("i", { class: k[0] }), k[1]]; }));
      legend.hidden = !kinds.length;
      if (state.middle !== null) scroll.scrollTop = Math.max(0, (state.middle + 1) * ROW - scroll.clientHeight / 2);
      describe(state.chosen || state.whole);
      draw();
    }

    function rows(n) {
      const t = state.tree, list = [];
      const whole = weightOf(t.root);
      if (t.sides.length === 2) {
        for (const key of n === t.root ? ["total", "calls"] : ["total", "self", "calls"]) list.push([{ total: "Total", self: "Self", calls: "Calls" }[key], text(key, n[key][0]) + " → " + text(key, n[key][1])]);
        return list;
      }
      list.push(["Total", text("total", n.total[0]) + (whole ? ", " + cairn.format.percent(n.total[0], whole) : "")]);
      if (n !== t.root) list.push(["Self", text("total", n.self[0])]);
      if (t.unit !== "samples" && !(t.approximate && !n.calls[0])) list.push(["Calls", text("calls", n.calls[0])]);
      if (t.unit !== "samples" && !t.approximate && n.calls[0] > 0 && n !== t.root) list.push(["Mean", text("total", n.total[0] / n.calls[0])]);
      if (n.max[0]) list.push(["Longest", text("max", n.max[0])]);
      if (n.restored) list.push(["", "The frame was restored: a tail call had removed it."]);
      return list;
    }

    function weightOf(n) { return n.total[0]; }

    function describe(n) {
      if (!n) return;
      const name = nameOf(n);
      const known = n.name >= 0 && ctx.model.functions.find(function (f) { return f.name === name || f.symbol === name; });
      card.replaceChildren(el("h2", null, name), el("dl", null, rows(n).map(function (r) { return [el("dt", null, r[0]), el("dd", null, r[1])]; })),
        n.name >= 0 && el("p", null, el("span", { class: "tl-bar" }, el("span", { class: "group" }, el("button", { type: "button", onclick() { ctx.go(Object.assign({}, current(), { mode: "sandwich", fn: name })); } }, "Callers and callees")),
          known && cairn.link({ view: "function", f: known.key }, "The function"))) || "");
    }

    function zoom(n) {
      if (n === null && state.middle !== null) return ctx.go(Object.assign({}, current(), { mode: "", fn: "" }));
      show();
      ctx.go(Object.assign({}, current(), { zoom: n && n !== state.tree.root ? pathOf(n) : "" }));
    }

    function find(q) {
      state.query = q.toLowerCase();
      table.filter(q);
      if (state.tree) {
        const t = state.tree;
        let sum = 0;
        if (state.query) (function walk(n) { // outermost matches only
          if (n.name >= 0 && nameOf(n).toLowerCase().includes(state.query)) sum += n.total[n.total.length - 1];
          else n.children.forEach(walk);
        })(t.root);
        say.textContent = state.query ? cairn.format.percent(sum, t.root.total[t.sides.length - 1]) + " of the " + (t.unit === "samples" ? "samples" : "time") : "";
      }
      draw();
    }

    function toTime() {
      const r = ctx.route;
      ctx.go({ view: "timeline", from: r.from, to: r.to });
    }

    function hit(event) {
      const area = canvas.getBoundingClientRect();
      const x = (event.clientX - area.left) / area.width, row = Math.floor((event.clientY - area.top + scroll.scrollTop - 1) / ROW);
      return state.boxes.find(function (b) { return b.row === row && x >= b.x && x < b.x + b.width; });
    }

    canvas.addEventListener("pointermove", function (event) {
      const b = hit(event);
      canvas.style.cursor = b ? "pointer" : "";
      if (!b) {
        tip.hidden = true;
        return;
      }
      tip.replaceChildren(el("b", null, nameOf(b.node)), el("table", null, rows(b.node).map(function (r) { return el("tr", null, el("td", { class: "soft" }, r[0]), el("td", null, r[1])); })));
      tip.hidden = false;
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = (event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + "px";
    });
    canvas.addEventListener("pointerleave", function () { tip.hidden = true; });
    canvas.addEventListener("click", function (event) {
      const b = hit(event);
      state.chosen = b ? b.node : null;
      if (b && state.middle === null) zoom(b.node);
      else show();
    });
    canvas.addEventListener("dblclick", function (event) {
      const b = hit(event);
      if (b && state.middle !== null && b.node.name >= 0) ctx.go(Object.assign({}, current(), { fn: nameOf(b.node) }));
    });
    canvas.addEventListener("keydown", function (event) {
      const boxes = state.boxes;
      const b = boxes.find(function (x) { return x.node === state.chosen; }) || boxes[0];
      if (event.key === "Enter" && state.chosen) {
        zoom(state.chosen);
      } else if (event.key.startsWith("Arrow") && b) {
        const row = b.row + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] || 0);
        const same = boxes.filter(function (x) { return x.row === row; }).sort(function (x, y) { return x.x - y.x; });
        const i = same.indexOf(b);
        const next = event.key === "ArrowLeft" ? same[i - 1] : event.key === "ArrowRight" ? same[i + 1]
          : same.find(function (x) { return x.x <= b.x + b.width / 2 && x.x + x.width > b.x; });
        if (next) {
          state.chosen = next.node;
          describe(next.node);
          ctx.announce(nameOf(next.node) + ", " + rows(next.node)[0][1]);
          draw();
        }
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    });
    const resized = new ResizeObserver(function () { show(); });
    resized.observe(scroll);
    document.addEventListener("cairn-theme", draw);

    function update(route) {
      ctx.route = route;
      list = inputs(ctx);
      select.replaceChildren(...list.map(function (i) { return el("option", { value: i.id }, i.title); }));
      const wanted = list.find(function (i) { return i.id === route.what; }) || list[0];
      select.value = wanted.id;
      if ((route.q || "") !== search.value) search.value = route.q || "";
      const same = input && wanted.id === input.id && wanted.title === input.title && route.from === input.from && route.to === input.to;
      if (same) {
        if (state.tree) follow(route);
        return;
      }
      input = Object.assign(wanted, { from: route.from, to: route.to });
      state.zoom = state.chosen = null;
      say.textContent = "Reading…";
      const mine = input;
      input.load().then(function (tree) {
        if (state.closed || mine !== input) return;
        state.tree = tree;
        table.show(tree);
        follow(ctx.route);
        root.dataset.ready = input.id;
      }, function (e) { say.textContent = String(e.message || e); });
    }
    /** follow shows what a route says of the tree. */
    function follow(route) {
      const was = state.zoom;
      state.by = route.by === "calls" && state.tree.unit !== "samples" && !state.tree.approximate ? "calls" : "total";
      state.zoom = nodeAt(route.zoom);
      if (state.zoom !== was) scroll.scrollTop = 0;
      find(search.value);
      show();
    }

    /** pathOf and nodeAt are how a node is written in an address. */
    function pathOf(n) {
      const path = [];
      for (; n.parent; n = n.parent) path.unshift(n.parent.children.indexOf(n));
      return path.join(".");
    }
    function nodeAt(path) {
      if (!path) return null;
      let n = state.tree.root;
      for (const i of path.split(".")) {
        n = n.children[Number(i)];
        if (!n) return null;
      }
      return n;
    }

    state.escape = function () {
      search.blur();
      zoom(null);
    };
    shown = { search: search, escape: state.escape };
    update(ctx.route);
    return {
      update: update,
      destroy() {
        state.closed = true;
        resized.disconnect();
        document.removeEventListener("cairn-theme", draw);
      },
    };
  }

  cairn.flame = Flame;
  let shown = null; // for keys
  cairn.key("f", "Search functions", function () { shown.search.focus(); }, { view: "flame" });
  cairn.key("Escape", "Show all", function () { shown.escape(); }, { view: "flame" });
  cairn.view({
    id: "flame", title: "Flame graph", key: "l", order: 55,
    available(model) {
      return Boolean(model.timeline && model.timeline.lanes.length || model.flame && model.flame.graphs.length || model.samples && model.samples.stacks.length);
    },
    mount: Flame,
  });
})();
