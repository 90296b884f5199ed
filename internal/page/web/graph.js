/* graph.js draws the call graph around a function: two levels of callers and callees. */
(function () {
  const el = cairn.el, svg = cairn.svg, format = cairn.format;
  const limits = { "": [9, 12], all: [400, 60] }; // boxes of a column: near the function, and beyond
  const boxHeight = 38, gap = 10;

  /** around returns the columns of the picture, callers' callers first, and the edges between. */
  function around(model, id, show) {
    const [near, far] = limits[show] || limits[""];
    const x = cairn.index(model), columns = [[], [], [{ id: id, self: true }], [], []], links = [], more = [0, 0, 0, 0, 0];
    const grow = function (from, to, most, edgesOf, end) {
      const seen = new Map();
      for (const node of columns[from]) {
        const list = edgesOf(node.id).filter(function (e) { return e[end] !== node.id; });
        const each = from === 2 ? most : Math.max(2, Math.floor(most / columns[from].length));
        list.forEach(function (e, i) {
          const other = e[end];
          if (!seen.has(other)) {
            if (seen.size >= most || i >= each) {
              more[to]++;
              return;
            }
            seen.set(other, { id: other });
            columns[to].push(seen.get(other));
          }
          links.push({ edge: e, from: end === "from" ? seen.get(other) : node, to: end === "from" ? node : seen.get(other) });
        });
      }
    };
    grow(2, 1, near, x.callers, "from");
    grow(2, 3, near, x.callees, "to");
    grow(1, 0, far, x.callers, "from");
    grow(3, 4, far, x.callees, "to");
    const loop = x.callees(id).find(function (e) { return e.to === id; });
    return { columns: columns, links: links, more: more, loop: loop };
  }

  /** untangle orders the nodes of a column by those that they are joined with. */
  function untangle(g) {
    const place = function (c) { c.forEach(function (n, i) { n.y = i - (c.length - 1) / 2; }); };
    g.columns.forEach(place);
    for (const i of [0, 4]) {
      for (const n of g.columns[i]) {
        const joined = g.links.filter(function (l) { return l.from === n || l.to === n; }).map(function (l) { return l.from === n ? l.to.y : l.from.y; });
        n.mean = joined.reduce(function (a, b) { return a + b; }, 0) / Math.max(1, joined.length);
      }
      g.columns[i].sort(function (a, b) { return a.mean - b.mean; });
      place(g.columns[i]);
    }
  }

  /** some is a rounded number of things. */
  function some(n, what) { return format.short(n) + " " + what + (n === 1 ? "" : "s"); }

  function value(model, e) {
    if (e.total && model.calls.unit === "ns") return format.duration(e.total);
    if (e.samples) return some(e.samples, "sample");
    if (e.calls) return some(e.calls, "call");
    return "";
  }

  function about(model, f) {
    if (f.time && model.calls.unit === "ns") return format.sum(f.time.total, model.calls.step, format.duration);
    if (f.calls !== undefined) return (f.at_least && f.calls ? "≥ " : "") + some(f.calls, "call");
    if (f.samples) return some(f.samples.total, "sample");
    return f.mode ? (f.runs ? "ran" : "did not run") : f.inlined ? "only inlined" : cairn.unprobed(model, f) ? "no probes" : "";
  }

  function fit(text, room) { return text.length <= room ? text : text.slice(0, Math.ceil(room / 2) - 1) + "…" + text.slice(text.length - Math.floor(room / 2)); }

  function draw(ctx, id, width, show) {
    const model = ctx.model, x = cairn.index(model), g = around(model, id, show);
    untangle(g);
    const used = [0, 1, 2, 3, 4].filter(function (i) { return g.columns[i].length && (width >= 900 || i > 0 && i < 4) && (width >= 560 || g.columns[i].length); });
    const between = width < 700 ? 40 : 76, box = Math.min(380, (width - between * (used.length - 1)) / used.length);
    const most = Math.max(...used.map(function (i) { return g.columns[i].length; }));
    const height = Math.max(220, most * (boxHeight + gap) + 50);
    const total = used.length * box + (used.length - 1) * between, left = (width - total) / 2;
    for (const i of used) {
      for (const n of g.columns[i]) {
        n.px = left + used.indexOf(i) * (box + between);
        n.py = height / 2 + n.y * (boxHeight + gap) - boxHeight / 2;
        n.shown = true;
      }
    }
    const picture = svg("svg", { class: "graph", width: width, height: height, viewBox: "0 0 " + width + " " + height, role: "group", "aria-label": "Call graph around " + x.short(id) });
    picture.append(svg("defs", null, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "9", markerHeight: "9", markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 .8 7.500 4 0 7.200z" }))));
    const heaviest = Math.max(1, ...g.links.map(function (l) { return l.edge.total || l.edge.samples || l.edge.calls || 1; }));
    for (const l of g.links) {
      if (!l.from.shown || !l.to.shown) continue;
      const x1 = l.from.px + box, y1 = l.from.py + boxHeight / 2, x2 = l.to.px - 2, y2 = l.to.py + boxHeight / 2, mid = (x2 - x1) / 2;
      const w = 1 + 3.5 * Math.sqrt((l.edge.total || l.edge.samples || l.edge.calls || 0) / heaviest);
      const path = svg("path", { class: "link " + (l.edge.kind || "logged") + (l.edge.restored ? " restored" : ""), d: "M" + x1 + " " + y1 + "C" + (x1 + mid) + " " + y1 + " " + (x2 - mid) + " " + y2 + " " + x2 + " " + y2, "stroke-width": w.toFixed(1), "marker-end": "url(#arrow)" },
        svg("title", null, x.short(l.from.id) + " → " + x.short(l.to.id) + ": " + cairn.evidence(l.edge)));
      picture.append(path);
      if (value(model, l.edge) && (l.from.self || l.to.self)) {
        const at = l.from.self ? [x2 - 6, y2 - 5, "end"] : [x1 + 6, y1 - 5, "start"];
        picture.append(svg("text", { class: "weightlabel", x: at[0], y: at[1], "text-anchor": at[2] }, value(model, l.edge)));
      }
    }
    for (const i of used) for (const n of g.columns[i]) picture.append(node(ctx, n, box));
    const n = g.columns[2][0];
    if (g.loop) picture.append(svg("path", { class: "link " + (g.loop.kind || "logged"), d: "M" + (n.px + box * .35) + " " + n.py + "c-10 -34 " + (box * .3 + 20) + " -34 " + (box * .3) + " -2", "marker-end": "url(#arrow)", "stroke-width": "1.500" }, svg("title", null, "It calls itself: " + cairn.evidence(g.loop))));
    const heads = { 0: "", 1: "Callers", 2: "", 3: "Callees", 4: "" };
    for (const i of used) {
      if (heads[i]) picture.append(svg("text", { class: "head", x: left + used.indexOf(i) * (box + between), y: 14 }, heads[i]),
        g.more[i] ? moreLink(ctx, id, g.more[i], left + used.indexOf(i) * (box + between) + 62, show) : "");
    }
    return picture;
  }

  /** moreLink leads to the graph with all callers and callees, or, where these are too many, to the function's list. */
  function moreLink(ctx, id, more, x, show) {
    const f = ctx.model.functions[id].key;
    return svg("a", { class: "morelink", href: cairn.href(show === "all" ? { view: "function", f: f } : { view: "graph", f: f, show: "all" }) },
      svg("text", { class: "head", x: x, y: 14 }, format.count(more) + " more"));
  }

  function node(ctx, n, box) {
    const model = ctx.model, x = cairn.index(model), f = model.functions[n.id];
    const state = !f.mode ? "outside" : f.runs ? "ran" : "missed";
    const share = f.blocks ? f.blocks[0] / f.blocks[1] : f.lines ? f.lines[0] / (f.lines[0] + f.lines[1] + f.lines[2]) : 0;
    const a = svg("a", { class: "node " + state + (n.self ? " self" : ""), href: n.self ? cairn.href({ view: "function", f: f.key }) : cairn.href({ view: "graph", f: f.key }) },
      svg("title", null, x.full(n.id) + (f.file >= 0 ? "\n" + cairn.placeOf(model, f) : "")),
      svg("rect", { x: n.px, y: n.py, width: box, height: boxHeight, rx: "6" }),
      svg("text", { class: "label", x: n.px + 9, y: n.py + 15 }, fit(x.short(n.id), Math.floor((box - 16) / 7.200))),
      svg("text", { class: "about", x: n.px + 9, y: n.py + 29 }, about(model, f)));
    if (share) {
      a.append(svg("rect", { class: "all", x: n.px + box - 59, y: n.py + 23, width: 50, height: 4, rx: "2" }),
        svg("rect", { class: "part", x: n.px + box - 59, y: n.py + 23, width: 50 * share, height: 4, rx: "2" }));
    }
    return a;
  }

  /** first is the function that the graph begins with: the one that most is below. */
  function first(model) {
    const x = cairn.index(model);
    const main = x.bySymbol.get("main");
    if (main !== undefined && x.callees(main).length) return main;
    let best = 0, most = -1;
    model.functions.forEach(function (f, i) {
      const n = x.callees(i).length + x.callers(i).length;
      if (n > most) [best, most] = [i, n];
    });
    return best;
  }

  cairn.view({
    id: "graph", title: "Call graph", key: "c", order: 30,
    available(model) { return model.edges.length > 0; },
    mount(root, ctx) {
      const model = ctx.model, x = cairn.index(model);
      let id = -1, name = "Call graph", show = "";
      const box = el("div", { class: "graph-box", tabindex: "-1" });
      const head = el("div", { class: "toolbar" });
      const names = el("datalist", { id: "graph-names" }, model.functions.slice(0, 3000).map(function (f) { return el("option", { value: f.key }); }));
      root.append(head, box, names, el("p", { class: "legend" },
        [["observed", "observed by a return address"], ["implied", "in code that ran"], ["possible", "possible, by a pointer"], ["logged", "in a log or samples"], ["restored", "restored frame"]]
          .filter(function (k) { return model.edges.some(function (e) { return k[0] === "restored" ? e.restored : k[0] === "logged" ? !e.kind : e.kind === k[0]; }); })
          .map(function (k) { return el("span", { class: "edge " + k[0] }, el("span", { class: "way" }), k[1]); }),
        el("span", null, "Choose a box to go there; choose the middle one to see the function.")));
      const paint = function () { if (id >= 0) box.replaceChildren(draw(ctx, id, Math.max(300, box.clientWidth), show)); };
      const resized = new ResizeObserver(paint);
      function update(route) {
        const next = x.byKey.has(route.f) ? x.byKey.get(route.f) : x.bySymbol.has(route.f) ? x.bySymbol.get(route.f) : first(model);
        const moved = id >= 0 && next !== id;
        id = next;
        show = route.show || "";
        const unknown = route.f && model.functions[id].key !== route.f && model.functions[id].symbol !== route.f;
        name = "Calls around " + x.short(id);
        head.replaceChildren(el("h1", { class: "mono" }, x.short(id)), cairn.link({ view: "function", f: model.functions[id].key }, "details"),
          el("input", { class: "search", type: "search", list: "graph-names", placeholder: "Go to a function", "aria-label": "Go to a function", onchange(e) {
            const f = x.byKey.get(e.target.value) !== undefined ? e.target.value : (model.functions.find(function (f) { return x.short(f.id) === e.target.value; }) || {}).key;
            if (f) ctx.go({ view: "graph", f: f });
          } }), unknown ? el("p", { class: "failure", role: "alert" }, "There is no function " + route.f + " in this report. This is " + x.short(id) + ".") : "");
        paint();
        if (moved) {
          const self = box.querySelector(".self");
          if (self) self.focus({ preventScroll: true });
          ctx.announce(name);
        }
      }
      update(ctx.route);
      resized.observe(box);
      return { update: update, title: function () { return name; }, destroy() { resized.disconnect(); } };
    },
  });
  for (const [key, dx, help] of [["ArrowLeft", -1, "To a caller"], ["ArrowRight", 1, "To a callee"]]) {
    cairn.key(key, help, function () { return step(dx, 0); }, { view: "graph", show: dx < 0 ? "←" : "→" });
  }
  for (const [key, dy] of [["ArrowUp", -1], ["ArrowDown", 1]]) {
    cairn.key(key, dy < 0 ? "Box above" : "Box below", function () { return step(0, dy); }, { view: "graph", show: dy < 0 ? "↑" : "↓" });
  }

  /** step moves the focus to the nearest box in a direction. */
  function step(dx, dy) {
    const nodes = [...document.querySelectorAll(".graph .node")];
    const at = nodes.includes(document.activeElement) ? document.activeElement : document.querySelector(".graph .self");
    if (!at) return false;
    const a = at.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const n of nodes) {
      const b = n.getBoundingClientRect(), x = b.left - a.left, y = b.top - a.top;
      if (n === at || dx && x * dx < 20 || dy && (y * dy < 5 || Math.abs(x) > 20)) continue;
      const d = Math.abs(x) * (dx ? 1 : 9) + Math.abs(y);
      if (d < least) [best, least] = [n, d];
    }
    if (!best) return false;
    best.focus();
    return true;
  }
})();
