/*
 * flame.js is the view of flame graphs: of logs of calls, of a part of the time line, of samples,
 * of the difference of two logs. A route has what (which input), from and to (a part of the time line), mode
 * (up: turned round; sandwich: the callers and callees of fn), by (total, self, calls), side and change (of two logs),
 * q (what is searched for), zoom (the bar that is as wide as the view: its place among its siblings, and that of
 * each of its callers), at (the chosen bar, if it is another), part (of the width, as the wheel zooms).
 */
(function () {
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
    const state = { tree: null, zoom: null, chosen: null, hit: null, closed: false, by: "total", side: "both", change: "self", part: [0, 1], fn: -1, boxes: [] };
    let asked = 0, list = inputs(ctx), input = null, given = null, turned = null;
    const bars = cairn.flamebars, ROW = bars.ROW, nameOf = function (n) { return bars.nameOf(state, n); };

    /** current is the route of what is shown, with changes; what belongs to another drawing is left out. */
    function current(changes) { return Object.assign({}, ctx.route, { view: "flame" }, changes); }
    function go(changes, replace) { ctx.go(current(changes), { replace: replace }); }

    /** choice is a group of buttons that set a parameter, whose first value is the default. */
    function choice(key, label, values) {
      const buttons = values.map(function (v) {
        return el("button", { type: "button", title: v[2], "data-value": v[0], ["data-" + key]: v[0], onclick() {
          go(Object.assign({ [key]: v[0] === buttons[0].dataset.value && key !== "by" ? "" : v[0] }, key === "mode" ? { fn: "", zoom: "", at: "", part: "" } : {}));
        } }, v[1]);
      });
      return { element: el("span", { class: "group", role: "group", "aria-label": label }, buttons), buttons: buttons, show(value) { for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.value === value)); } };
    }

    const select = el("select", { "aria-label": "Input", onchange() { go({ what: select.value, fn: "", zoom: "", at: "", part: "" }); } });
    const search = el("input", { type: "search", placeholder: "Search: words or /regexp/ (f)", "aria-label": "Search functions", spellcheck: "false", autocomplete: "off", oninput() {
      find(search.value);
      reset.disabled = false;
      keepQuery();
    } });
    const keepQuery = cairn.debounce(function () { if (!state.closed) go({ q: search.value }, true); }, 250);
    const modes = choice("mode", "Direction", [["stacks", "Stacks", "Each function below its callers"], ["up", "Bottom up", "The functions whose own time it is at the top, their callers below"], ["sandwich", "Callers and callees", "Of one function"]]);
    const measures = choice("by", "Width", [["total", "Time", "Width by time from enter to exit"], ["self", "Self", "Width by own time; the colour is as strong as the function's own part in it"], ["calls", "Calls", "Width by the calls of a function and of those below it"]]);
    const sides = choice("side", "Width of both sides", [["both", "Both", "Width by the sum of both sides"], ["0", "Before"], ["1", "After"]]);
    const change = choice("change", "Colour", [["self", "Change of self", "Colour by the change of the function's own time"], ["total", "of total", "Colour by the change of time with callees"]]);
    const timeButton = el("button", { type: "button", title: "The same calls in the order of time", onclick: toTime }, "In time order");
    const reset = el("button", { type: "button", title: "Show all (Escape)", onclick: all }, "All");
    const path = el("nav", { class: "flame-path", "aria-label": "Zoomed to" });
    const say = el("span", { class: "tl-say", role: "status" });
    const canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "Flame graph. Arrows move from bar to bar, Enter zooms in, Escape out, + and - change the scale; the table has the same functions." });
    const box = el("div", { class: "tl-box" }, el("div", { class: "tl-scroll", onscroll: draw }, el("div", { class: "tl-space" }, canvas)));
    const scroll = box.firstChild;
    const tip = el("div", { class: "tl-tip", hidden: true });
    const note = el("p", { class: "tl-note" });
    const legend = el("p", { class: "tl-note tl-legend" });
    const card = el("section", { class: "tl-card", "aria-live": "polite" });
    const tableRoot = el("div", null);
    const table = cairn.costs.Table(tableRoot, { pick: function (name) { go({ mode: "sandwich", fn: state.tree.names[name], zoom: "", at: "", part: "" }); } });
    canvas.style.position = "sticky";
    canvas.style.top = "0";
    cairn.set(root, null, [el("h1", { class: "unseen" }, "Flame graph"),
      el("div", { class: "tl-bar" }, select, search, modes.element, el("span", { class: "group" }, timeButton), measures.element, sides.element, change.element, el("span", { class: "group" }, reset), say),
      path, box, note, legend, el("div", { class: "tl-below" }, el("section", null, el("h2", null, "Functions"), tableRoot), card), tip]);

    function draw() { if (!asked) asked = requestAnimationFrame(paint); }

    function paint() {
      asked = 0;
      if (state.closed || !state.tree) return;
      scroll.style.height = "min(62vh, " + (state.rows * ROW + 6) + "px)";
      const width = scroll.clientWidth, height = scroll.clientHeight;
      scroll.firstChild.style.height = Math.max(height, state.rows * ROW + 4) + "px";
      root.dataset.bars = bars.paint(state, canvas, width, height, scroll.scrollTop);
    }

    function show() {
      const t = state.tree;
      if (!t) return;
      bars.arrange(state, scroll.clientWidth);
      const two = t.sides.length === 2;
      modes.show(ctx.route.mode || "stacks");
      measures.show(state.by);
      sides.show(state.side);
      change.show(state.change);
      measures.element.hidden = t.approximate;
      measures.buttons[0].textContent = t.sampled ? "Total" : "Time";
      measures.buttons[1].hidden = two; // it differs by its colours only
      measures.buttons[2].hidden = t.sampled;
      sides.element.hidden = change.element.hidden = !two;
      if (two) for (const k of [0, 1]) sides.buttons[1 + k].textContent = sideNames(t)[k];
      select.hidden = list.length < 2;
      timeButton.parentElement.hidden = !ctx.model.timeline || input.id !== "part" && (!input.id.startsWith("calls") || two);
      reset.disabled = !search.value && !state.zoom && state.middle === null && state.part[0] === 0 && state.part[1] === 1;
      note.textContent = [...t.notes, t.approximate ? cairn.approximate(t) : "",
        t.merged ? cairn.format.plural(t.merged, "stack") + " with little time " + (t.merged === 1 ? "is" : "are") + " merged." : "",
        ctx.route.mode === "sandwich" && state.middle === null ? "Choose a function in the table." : "",
        two ? t.sides[0] + " is compared with " + t.sides[1] + ": more in red, less in green; framed bars are new, or gone." : ""].filter(Boolean).join(" ");
      const known = [["kernel", "kernel"], ["restored", "restored: tail calls had removed these frames"], ["inlined", "inlined"]].filter(function (k) { return t.kinds && t.kinds.includes(k[0]); });
      if (state.boxes.some(function (b) { return b.node.deduced || b.node.open; })) known.push(["cut", "calls without an exit"]);
      legend.replaceChildren(...known.flatMap(function (k) { return [el("i", { class: k[0] }), k[1]]; }));
      legend.hidden = !known.length;
      if (state.middle !== null) scroll.scrollTop = Math.max(0, (state.middle + 1) * ROW - scroll.clientHeight / 2);
      showPath();
      describe(state.chosen || state.whole);
      draw();
    }

    /** sideNames are the names of both sides, without their directories unless these are the difference. */
    function sideNames(t) {
      const last = t.sides.map(cairn.format.base);
      return last[0] === last[1] ? t.sides : last;
    }

    function showPath() {
      const above = state.middle === null ? bars.above(state.zoom || state.tree.root) : [], most = innerWidth < 720 ? 4 : 6;
      const shown = above.length > most ? [above[0], null, ...above.slice(above.length - most + 2)] : above; // the drawing has those between
      path.hidden = above.length < 2;
      path.replaceChildren(...shown.flatMap(function (n, i) {
        const sign = i ? [el("span", { class: "soft", "aria-hidden": "true" }, state.tree.turned ? "‹" : "›")] : [];
        if (!n) return [...sign, el("span", { class: "soft" }, "…")];
        return [...sign, el("button", { type: "button", title: nameOf(n), "aria-current": i === shown.length - 1 ? "location" : null, onclick() { zoom(n); } }, nameOf(n))];
      }));
    }

    function describe(n) {
      if (!n) return;
      const name = nameOf(n), function_ = n.name >= 0 && !n.label;
      const known = function_ && ctx.model.functions.find(function (f) { return f.name === name || f.symbol === name; });
      cairn.flamecard.show(card, state, n, function_ ? [el("span", { class: "group" },
        el("button", { type: "button", onclick() { go({ mode: "sandwich", fn: name, zoom: "", at: "", part: "" }); } }, "Callers and callees"),
        el("button", { type: "button", onclick() { go({ q: "/^" + name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + "$/" }, true); } }, "Find everywhere")),
      known && cairn.link({ view: "function", f: known.key }, "The function")] : []);
    }

    function zoom(n) {
      if (state.middle !== null) return;
      go({ zoom: n && n !== state.tree.root ? bars.pathOf(n) : "", at: "", part: "" });
    }

    function all() {
      search.blur();
      if (state.hit || state.wrong) go({ q: "", zoom: "", at: "", part: "", mode: ctx.route.mode === "up" ? "up" : "", fn: "" });
      else go(Object.assign({ zoom: "", at: "", part: "" }, state.middle !== null ? { mode: "", fn: "" } : {}));
      if (state.chosen) {
        state.chosen = null;
        show();
      }
    }

    function find(q) {
      state.wrong = "";
      state.hit = null;
      search.removeAttribute("aria-invalid");
      try {
        if (q.trim()) state.hit = cairn.matcher(q);
      } catch (e) {
        search.setAttribute("aria-invalid", "true");
        state.wrong = e.message;
      }
      table.filter(state.hit);
      const t = state.tree;
      if (!t) return;
      say.textContent = state.wrong;
      if (state.hit) {
        const found = covered(t);
        say.textContent = found.bars ? cairn.format.percent(found.part, found.whole) + " of the " + (state.by === "calls" ? "calls" : t.sampled && t.unit !== "ns" ? t.unit : "time") + " in or below " + cairn.format.plural(found.bars, "bar") : "no bar";
      } else if (!state.wrong && t.stacks) {
        say.textContent = cairn.format.plural(t.stacks, "stack");
      }
      draw();
    }

    /** covered is how much is in functions that are searched for, or below: a stack with several of them counts once. */
    function covered(t) {
      const weight = function (n) { return (state.by === "calls" ? n.all : state.by === "self" ? n.inside : n.total).reduce(function (a, b, k) { return state.side === "both" || Number(state.side) === k ? a + b : a; }, 0); };
      let part = 0, count = 0;
      (function walk(n, inside) {
        const is = n.name >= 0 && !n.label && state.hit(t.names[n.name]);
        if (is) count++;
        if (is && !inside) part += weight(n);
        for (const c of n.children) walk(c, inside || is);
      })(t.root, false);
      return { bars: count, part: part, whole: weight(t.root) };
    }

    function toTime() {
      const r = ctx.route;
      ctx.go({ view: "timeline", from: r.from, to: r.to });
    }

    // A part of the width.

    const keepPart = cairn.debounce(function () { if (!state.closed) go({ part: state.part[0] === 0 && state.part[1] === 1 ? "" : state.part.map(function (v) { return v.toFixed(6); }).join("-") }, true); }, 250);
    function setPart(from, span) {
      const width = Math.min(1, Math.max(1e-6, span)), begin = Math.max(0, Math.min(1 - width, from));
      state.part = [begin, begin + width];
      bars.arrange(state, scroll.clientWidth);
      reset.disabled = false;
      tip.hidden = true;
      draw();
      keepPart();
    }
    function scaleAround(at, factor) {
      const [from, to] = state.part, next = Math.min(1, Math.max(1e-6, (to - from) * factor));
      setPart(from + at * (to - from - next), next);
    }
    function move(by) { setPart(state.part[0] + by * (state.part[1] - state.part[0]), state.part[1] - state.part[0]); }

    function at(event) {
      const area = canvas.getBoundingClientRect();
      return { x: (event.clientX - area.left) / area.width, row: Math.floor((event.clientY - area.top + scroll.scrollTop - 1) / ROW) };
    }
    function hit(event) {
      const p = at(event), x = state.part[0] + p.x * (state.part[1] - state.part[0]);
      return state.boxes.find(function (b) { return b.row === p.row && x >= b.x && x < b.x + b.width; });
    }

    let grip = null;
    canvas.addEventListener("wheel", function (event) {
      const unit = event.deltaMode === 1 ? 16 : 1; // some browsers count lines
      if (event.ctrlKey || event.metaKey) scaleAround(at(event).x, Math.exp(Math.max(-60, Math.min(60, event.deltaY * unit)) * 0.006));
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) move((event.deltaX || event.deltaY) * unit / scroll.clientWidth);
      else return;
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", function (event) { if (event.button === 0) grip = { x: event.clientX, y: event.clientY, moved: false }; });
    canvas.addEventListener("pointermove", function (event) {
      if (grip && event.buttons & 1) {
        const dx = event.clientX - grip.x, dy = event.clientY - grip.y;
        if (!grip.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
        scroll.scrollTop -= dy;
        grip = { x: event.clientX, y: event.clientY, moved: true };
        move(-dx / scroll.clientWidth);
        return;
      }
      const b = hit(event);
      canvas.style.cursor = b ? "pointer" : "";
      if (!b) {
        tip.hidden = true;
        return;
      }
      tip.replaceChildren(el("b", null, nameOf(b.node)), el("table", null, cairn.flamecard.rows(state.tree, b.node).map(function (r) { return el("tr", null, el("td", { class: "soft" }, r[0]), el("td", null, r[1])); })),
        ...cairn.flamecard.remarks(state.tree, b.node).map(function (s) { return el("p", { class: "soft" }, s); }));
      tip.hidden = false;
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.max(4, event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + "px";
    });
    canvas.addEventListener("pointerleave", function () { tip.hidden = true; });
    canvas.addEventListener("click", function (event) {
      const moved = grip && grip.moved;
      grip = null;
      if (moved) return;
      const b = hit(event);
      state.chosen = b ? b.node : null;
      show();
      if (b && state.middle === null) zoom(b.node);
    });
    canvas.addEventListener("dblclick", function (event) {
      const b = hit(event);
      if (b && state.middle !== null && b.node.name >= 0) go({ fn: nameOf(b.node) });
    });

    function choose(n) {
      state.chosen = n;
      const x = state.boxes.find(function (b) { return b.node === n; });
      const y = x.row * ROW;
      if (y < scroll.scrollTop) scroll.scrollTop = y;
      else if (y + ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = y + ROW - scroll.clientHeight;
      describe(n);
      ctx.announce(nameOf(n) + ", " + cairn.flamecard.rows(state.tree, n).slice(0, 3).map(function (r) { return r.slice(0, 2).join(" "); }).join(", "));
      draw();
      if (state.middle === null) go({ at: bars.pathOf(n) }, true);
    }
    canvas.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const boxes = state.boxes, b = boxes.find(function (x) { return x.node === state.chosen; });
      if ((event.key === "Enter" || event.key === " ") && state.chosen) {
        zoom(state.chosen);
      } else if (event.key === "+" || event.key === "=" || event.key === "-") {
        scaleAround(0.5, event.key === "-" ? 1 / 0.7 : 0.7);
      } else if (event.key === "Home" || event.key.startsWith("Arrow") && !b) {
        choose(boxes.find(function (x) { return x.row === (state.middle || 0); }).node);
      } else if (event.key.startsWith("Arrow")) {
        const row = b.row + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] || 0);
        const same = boxes.filter(function (x) { return x.row === row; }).sort(function (x, y) { return x.x - y.x; });
        const i = same.indexOf(b), below = function (x) { return x.x < b.x + b.width && x.x + x.width > b.x; };
        const next = event.key === "ArrowLeft" ? same[i - 1] : event.key === "ArrowRight" ? same[i + 1] : same.find(below);
        if (next) choose(next.node);
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
        if (given) follow(route);
        return;
      }
      input = Object.assign(wanted, { from: route.from, to: route.to });
      given = turned = state.tree = state.zoom = state.chosen = null;
      say.textContent = "Reading…";
      const mine = input;
      input.load().then(function (tree) {
        if (state.closed || mine !== input) return;
        given = tree;
        state.tree = tree;
        table.show(tree);
        follow(ctx.route);
        root.dataset.ready = input.id;
      }, function (e) { say.textContent = String(e.message || e); });
    }

    /** follow shows what a route says of the tree. */
    function follow(route) {
      const was = state.zoom, tree = state.tree;
      state.tree = route.mode === "up" ? turned = turned || cairn.trees.turn(given) : given;
      const t = state.tree, by = route.by || t.by || "total";
      state.by = t.approximate || by === "calls" && t.sampled || by === "self" && t.sides.length === 2 ? "total" : by;
      state.side = t.sides.length === 2 && route.side || "both";
      state.change = route.change || "self";
      state.fn = route.mode === "sandwich" ? t.names.indexOf(route.fn) : -1;
      state.zoom = state.fn >= 0 ? null : nodeAt(route.zoom);
      const part = (route.part || "").split("-").map(Number);
      state.part = part.length === 2 && part[0] >= 0 && part[1] > part[0] && part[1] <= 1 ? part : [0, 1];
      if (state.fn < 0) state.chosen = nodeAt(route.at || route.zoom);
      else if (tree !== t) state.chosen = null;
      if (state.zoom !== was) scroll.scrollTop = 0;
      tip.hidden = true;
      find(search.value);
      show();
    }

    /** nodeAt returns the node that pathOf wrote in an address. */
    function nodeAt(path) {
      if (!path) return null;
      let n = state.tree.root;
      for (const i of path.split(".")) {
        n = n.children[Number(i)];
        if (!n) return null;
      }
      return n;
    }

    shown = { search: search, escape: all };
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
  for (const key of ["f", "/"]) cairn.key(key, "Search functions", function () { shown.search.focus(); }, { view: "flame" });
  cairn.key("Escape", "Show all", function () { shown.escape(); }, { view: "flame" });
  cairn.view({
    id: "flame", title: "Flame graph", key: "l", order: 55,
    available(model) {
      return Boolean(model.timeline && model.timeline.lanes.length || model.flame && model.flame.graphs.length || model.samples && model.samples.stacks.length);
    },
    mount: Flame,
  });
})();
