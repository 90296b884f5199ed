/* pages.js shows which pages of the program's code runs touch, as it is linked and in order. */
(function () {
  const el = cairn.el, svg = cairn.svg, format = cairn.format;
  // From early to late; what is dark on light paper is light on dark paper.
  const ramp = {
    light: ["#3b0f70", "#5a2a86", "#7b3f8f", "#a0508f", "#c5638a", "#e07d7f", "#ef9d79", "#f4bd84", "#f5d99c"],
    dark: ["#fff3c4", "#ffe08f", "#fdc473", "#f9a261", "#ee7e5d", "#d75f67", "#b54a76", "#8d3d7c", "#653677"],
  };

  function colour(step, most) {
    const list = ramp[document.documentElement.dataset.theme] || ramp.light;
    return list[Math.min(list.length - 1, Math.floor((step - 1) / Math.max(1, most) * list.length))];
  }

  /**
   * map draws the pages of a layout as squares, coloured by their first touch. tell is called for the page at the mouse,
   * and with true for the one that is chosen.
   */
  function map(layout, touch, most, marked, tell) {
    const steps = touch.steps, n = steps.length;
    const canvas = el("canvas", { class: "pagemap", tabindex: "0", role: "img", "aria-label": format.count(touch.pages) + " of " + n + " pages are touched " + layout.label + ". Arrow keys move over the pages." });
    let columns = 1, pitch = 1, current = -1;
    const paint = function () {
      const width = canvas.parentNode ? canvas.parentNode.clientWidth : 0;
      if (!width) return;
      // Rows hold a multiple of eight pages, as large as the width and a screen allow.
      const least = n <= 300 ? 20 : n <= 1200 ? 13 : n <= 6000 ? 9 : n <= 30000 ? 5 : 3;
      columns = Math.max(8, Math.floor(width / least / 8) * 8);
      pitch = Math.max(least, Math.min(26, Math.floor(width / columns)));
      const rows = Math.ceil(n / columns), scale = window.devicePixelRatio || 1, gap = pitch > 8 ? 2 : 1;
      canvas.width = columns * pitch * scale;
      canvas.height = rows * pitch * scale;
      canvas.style.width = columns * pitch + "px";
      canvas.style.height = rows * pitch + "px";
      const g = canvas.getContext("2d"), css = getComputedStyle(document.documentElement);
      g.scale(scale, scale);
      const empty = css.getPropertyValue("--line"), accent = css.getPropertyValue("--accent");
      for (let i = 0; i < n; i++) {
        const px = i % columns * pitch, py = Math.floor(i / columns) * pitch;
        g.fillStyle = steps[i] ? colour(steps[i], most) : empty;
        g.fillRect(px, py, pitch - gap, pitch - gap);
        if (marked.has(i) || i === current) {
          g.strokeStyle = accent;
          g.lineWidth = 2;
          g.strokeRect(px + 1, py + 1, pitch - gap - 2, pitch - gap - 2);
        }
      }
    };
    const mark = function (i) {
      if (i === current || i >= n) return;
      current = i;
      paint();
    };
    const choose = function (i, keep) {
      if (i < 0 || i >= n || i === current && !keep) return;
      mark(i);
      tell(i, keep);
    };
    canvas.addEventListener("pointermove", function (e) {
      const r = canvas.getBoundingClientRect();
      choose(Math.floor((e.clientY - r.top) / pitch) * columns + Math.min(columns - 1, Math.floor((e.clientX - r.left) / pitch)), false);
    });
    canvas.addEventListener("click", function () { choose(current, true); });
    canvas.addEventListener("keydown", function (e) {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[e.key];
      if (!by) return;
      e.preventDefault();
      e.stopPropagation();
      choose(current < 0 ? 0 : current + by, true);
    });
    return { element: canvas, paint: paint, mark: mark };
  }

  /** curve draws how the number of touched pages grows over a run. */
  function curve(sc, layouts, width) {
    const height = 220, left = 46, right = 150, top = 12, bottom = 38;
    const lines = sc.touch.map(function (t, i) { return { points: t.curve, class: i ? "is" : "was", label: layouts[i].label }; });
    lines.push({ points: sc.bounds, class: "least", label: "least possible" });
    const steps = Math.max(1, ...lines.map(function (l) { return l.points.length ? l.points[l.points.length - 1][0] : 0; }));
    const most = Math.max(1, ...lines.map(function (l) { return l.points.length ? l.points[l.points.length - 1][1] : 0; }));
    const x = function (s) { return left + s / steps * (width - left - right); }, y = function (p) { return height - bottom - p / most * (height - top - bottom); };
    const picture = svg("svg", { class: "curve", width: width, height: height, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "Pages touched over the run" });
    const tick = function (n) { const p = Math.pow(10, Math.floor(Math.log10(n / 4 || 1))); return [1, 2, 5, 10].map(function (k) { return k * p; }).find(function (k) { return n / k <= 5; }) || 1; };
    for (let p = 0; p <= most; p += tick(most)) picture.append(svg("path", { class: "gridline", d: "M" + left + " " + y(p) + "H" + (width - right) }), svg("text", { x: left - 8, y: y(p) + 4, "text-anchor": "end" }, format.count(p)));
    for (let s = 0; s <= steps; s += tick(steps)) picture.append(svg("text", { x: x(s), y: height - bottom + 16, "text-anchor": "middle" }, format.count(s)));
    picture.append(svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "functions executed for the first time"));
    let last = -Infinity;
    for (const l of lines.slice().sort(function (a, b) { return end(b) - end(a); })) {
      if (!l.points.length) continue;
      let d = "M" + x(0) + " " + y(0);
      for (const p of l.points) d += "H" + x(p[0]).toFixed(1) + "V" + y(p[1]).toFixed(1);
      picture.append(svg("path", { class: "line-" + l.class, d: d, fill: "none" }));
      const at = Math.max(y(end(l)) + 4, last + 16);
      last = at;
      picture.append(svg("text", { class: "end-" + l.class, x: width - right + 8, y: at }, format.count(end(l)) + " " + l.label));
    }
    return picture;
  }
  function end(l) { return l.points.length ? l.points[l.points.length - 1][1] : 0; }

  /** scenarioRoute is the address of another scenario. */
  function scenarioRoute(route, s) { return Object.assign({}, route, { view: "pages", scenario: s.name || " " }); }

  function table(model, route, current) {
    const p = model.pages, ordered = p.layouts.length > 1;
    const num = function (t) { return el("th", { scope: "col", class: "num" }, t); };
    const d = function (n) { return format.count(Math.round(n * 10) / 10); };
    return el("div", { class: "scroll" }, el("table", { class: "scenarios" },
      el("thead", null, el("tr", null, el("th", { scope: "col" }, "Scenario"), num("Runs"), num("Functions"), num("Code"), num("Pages"), ordered ? num("In order") : null, ordered ? num("Saved") : null, num("Least"), num("64 KiB windows"))),
      el("tbody", null, p.scenarios.map(function (s) {
        const now = s.touch[0].pages, then = ordered ? s.touch[1].pages : 0;
        return el("tr", { class: s === current ? "current" : "" }, el("td", null, cairn.link(scenarioRoute(route, s), s.name || "(no name)", { "aria-current": s === current ? "true" : null })),
          el("td", { class: "num" }, format.count(s.runs)), el("td", { class: "num" }, d(s.functions)), el("td", { class: "num" }, format.bytes(s.bytes)), el("td", { class: "num" }, d(now)),
          ordered ? el("td", { class: "num" }, d(then)) : null, ordered ? el("td", { class: "num saved" }, then < now ? "−" + format.percent(now - then, now) : "") : null, el("td", { class: "num" }, d(s.least)),
          el("td", { class: "num" }, d(s.touch[0].windows_64k) + (ordered ? " → " + d(s.touch[1].windows_64k) : "")));
      }))));
  }

  // A route has scenario, f (the function whose pages are outlined), and at (the chosen page: its layout and number).
  cairn.view({
    id: "pages", title: "Pages", key: "p", order: 40,
    available(model) { return Boolean(model.pages); },
    mount(root, ctx) {
      const model = ctx.model, p = model.pages, x = cairn.index(model);
      let maps = [], redraw = function () {}, shown = "", now = ctx.route;
      const resized = new ResizeObserver(function () { redraw(); });
      const themed = function () { redraw(); };
      document.addEventListener("cairn-theme", themed);
      function update(route) {
        now = route;
        const of = JSON.stringify([route.scenario, route.f]);
        if (of === shown) return chosen();
        shown = of;
        const sc = p.scenarios.find(function (s) { return s.name === (route.scenario || "").trim(); }) || p.scenarios[0];
        const fn = x.byKey.get(route.f);
        const info = el("div", { class: "pageinfo", role: "status" }, el("p", { class: "soft" }, "Point at a page to see its functions."));
        const tell = function (at, i) {
          const layout = p.layouts[at], touch = sc.touch[at], ids = layout.pages[i] || [], step = touch.steps[i];
          info.replaceChildren(el("h3", null, el("span", { class: "mono" }, format.hex(layout.address + i * p.page_size)), ", " + layout.label),
            el("p", { class: "soft" }, step ? "touched by first execution " + format.count(step) + " of the run" : "not touched in this run"),
            el("ul", { class: "plain" }, ids.slice(0, 14).map(function (id) { return el("li", null, cairn.functionMark(model, x, model.functions[id]), cairn.functionLink(model, id)); })),
            ids.length > 14 ? el("p", { class: "soft" }, "and " + (ids.length - 14) + " more") : !ids.length ? el("p", { class: "soft" }, "no function of the profile") : "");
        };
        chosen = function () {
          const [at, i] = (now.at || "").split(".").map(Number), is = maps[at] && i >= 0 && i < maps[at].touch.steps.length;
          maps.forEach(function (m, k) { m.map.mark(is && k === at ? i : -1); });
          if (is) tell(at, i);
          root.querySelectorAll(".scenarios a").forEach(function (a, k) { a.href = cairn.href(scenarioRoute(now, p.scenarios[k])); });
        };
        maps = p.layouts.map(function (l, i) {
          const t = sc.touch[i], marked = new Set();
          if (fn !== undefined) l.pages.forEach(function (ids, n) { if (ids.includes(fn)) marked.add(n); });
          const most = Math.max(...t.steps);
          return { layout: l, touch: t, map: map(l, t, most, marked, function (n, keep) {
            for (const [k, m] of maps.entries()) if (k !== i) m.map.mark(-1);
            tell(i, n);
            if (keep) ctx.go(Object.assign({}, now, { at: i + "." + n }), { replace: Boolean(now.at) });
          }) };
        });
        const graph = el("div");
        root.replaceChildren(
          el("div", { class: "title" }, el("h1", null, "Pages of " + p.binary),
            el("p", { class: "under soft" }, "Each square is a page of " + format.bytes(p.page_size) + " of code; its colour says when the run first touched it.",
              fn !== undefined ? el("span", null, "Outlined: ", cairn.functionLink(model, fn)) : null)),
          table(model, route, sc),
          el("div", { class: "pagegrid" },
            el("div", { class: "maps" }, maps.map(function (m, i) {
              return el("figure", null, el("figcaption", null, el("strong", null, m.layout.label), " ", el("span", { class: "soft" }, format.count(m.touch.steps.filter(Boolean).length) + " of " + format.count(m.touch.steps.length) + " pages touched" + (i ? ", predicted" : ""))), el("div", null, m.map.element));
            }),
            el("p", { class: "legend" }, el("span", null, "first touch: early ", el("span", { class: "scale" }, (ramp.light).map(function (c, i) { return el("i", { class: "r" + i }); })), " late"))),
            info),
          el("section", { class: "card" }, el("h2", null, "Pages touched over the run"), graph,
            p.layouts.length > 1 ? el("p", { class: "soft" }, "“By cairn order” is predicted for the order of functions that cairn order computes from these runs; cairn build --use also moves blocks that never ran away, which saves more.") : null));
        redraw = function () {
          for (const m of maps) m.map.paint();
          root.querySelectorAll(".scale i").forEach(function (e, i) { e.style.background = (ramp[document.documentElement.dataset.theme] || ramp.light)[i]; });
          graph.replaceChildren(curve(sc, p.layouts, Math.max(320, Math.min(900, graph.clientWidth))));
        };
        redraw();
        chosen();
      }
      let chosen = function () {};
      update(ctx.route);
      resized.observe(root);
      return { update: update, destroy() { resized.disconnect(); document.removeEventListener("cairn-theme", themed); } };
    },
  });
})();
