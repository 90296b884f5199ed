/*
 * code.js shows source with what is known of its lines. Of a file of any size only the lines
 * on the screen are elements; they are coloured from a place before them that is outside of
 * comments.
 *
 *   const view = cairn.code({model, source, from, to, line, height});
 *   root.append(view.element); view.show(line);
 */
cairn.code = (function () {
  const el = cairn.el, height = 20;
  const states = ["missed", "unknown", "ran"];
  const stateText = { missed: "did not run", unknown: "unknown", ran: "ran" };
  const marks = { missed: "✕", unknown: "?", ran: "" };

  const modes = {
    c: "c", h: "cpp", cc: "cpp", cpp: "cpp", cxx: "cpp", "c++": "cpp", hh: "cpp", hpp: "cpp", hxx: "cpp", inl: "cpp", tcc: "cpp", m: "objectiveC", mm: "objectiveCpp",
    go: "go", rs: "rust", f: "fortran", f90: "fortran", f95: "fortran", f03: "fortran", for: "fortran", s: "gas",
  };
  function modeOf(path) {
    const m = /\.([^./]+)$/.exec(path);
    const name = m && modes[m[1].toLowerCase()];
    return cairnCode.modes[name || (m ? "" : "cpp")] || null; // the headers of C++ have no ending
  }

  const classes = { keyword: "k", type: "t", string: "s", "string-2": "s", number: "n", comment: "c", meta: "m", def: "d", builtin: "t", atom: "n", variable: "", operator: "", tag: "t" };

  /** colour returns, for lines [from, to), lists of [text, class]. */
  function colour(lines, from, to, mode) {
    if (!mode) return lines.slice(from, to).map(function (l) { return [[l, ""]]; });
    let start = Math.max(0, from - 60);
    const before = lines.slice(Math.max(0, start - 400), start).join("\n");
    if (before.lastIndexOf("/*") > before.lastIndexOf("*/")) { // start where the comment does
      start = Math.max(0, start - 400) + before.slice(0, before.lastIndexOf("/*")).split("\n").length - 1;
    }
    while (start > 0 && /\\$/.test(lines[start - 1])) start--;
    const state = mode.startState ? mode.startState(4) : {};
    const out = [];
    for (let i = start; i < to; i++) {
      const text = lines[i].length > 2000 ? lines[i].slice(0, 2000) + " …" : lines[i];
      const tokens = [];
      if (text === "") {
        if (mode.blankLine) mode.blankLine(state, 4);
      } else {
        const stream = new cairnCode.StringStream(text, 8, 4);
        let stuck = 0;
        while (!stream.eol() && stuck < 20) {
          stream.start = stream.pos;
          const style = mode.token(stream, state);
          stuck = stream.pos === stream.start ? stuck + 1 : 0;
          if (stream.pos === stream.start) continue;
          tokens.push([stream.current(), style ? classes[style.split(" ")[0]] || "" : ""]);
        }
        if (stuck) tokens.push([text.slice(stream.pos), ""]);
      }
      if (i >= from) out.push(tokens);
    }
    return out;
  }

  return function (options) {
    const { model, source } = options, x = cairn.index(model);
    const lines = source.text === undefined ? [] : source.text.replace(/\n$/, "").split("\n").map(function (l) { return l.replace(/\r$/, "").replace(/\t/g, "        "); });
    const info = new Map(source.lines.map(function (l) { return [l[0], l]; }));
    const times = new Map(source.times || []);
    const inlined = new Map();
    for (const c of source.inlined) {
      if (!inlined.has(c.line)) inlined.set(c.line, new Map());
      const at = inlined.get(c.line);
      if (!at.has(c.callee)) at.set(c.callee, { callee: c.callee, ran: 0, into: [] });
      const one = at.get(c.callee);
      one.ran |= c.ran;
      one.into.push(c.into);
    }
    const begins = new Map();
    const file = model.files.findIndex(function (f) { return f.path === source.path; });
    for (const id of x.inFile(file)) if (!begins.has(model.functions[id].line)) begins.set(model.functions[id].line, id);
    const from = Math.max(1, options.from || 1), to = Math.min(lines.length, options.to || lines.length);
    const count = Math.max(0, to - from + 1), mode = modeOf(source.path);
    const manyRuns = model.modules.some(function (m) { return m.runs > 1; });
    let marked = options.line || 0, drawn = null;

    const body = el("div", { class: "code-body", style: { height: count * height + "px" } });
    const scroll = el("div", { class: "code", tabindex: "0", role: "region", "aria-label": "Source of " + source.path, onscroll: draw }, body);
    const ruler = el("canvas", { class: "ruler", "aria-hidden": "true", onclick: function (e) {
      const r = ruler.getBoundingClientRect();
      scroll.scrollTop = (e.clientY - r.top) / r.height * count * height - scroll.clientHeight / 2;
    } });
    const element = el("div", { class: "code-frame" }, scroll, ruler);
    if (options.height) scroll.style.height = options.height;

    function row(n, tokens) {
      const l = info.get(n), state = l ? states[l[1]] : "";
      const executed = times.get(n);
      const runs = executed ? cairn.format.short(executed) : l && l[2] && manyRuns ? String(l[2]) : "";
      const partly = l && l[4] > 1 && l[3] > 0 && l[3] < l[4];
      const begin = begins.get(n);
      const text = l ? stateText[state] + (executed ? " " + cairn.format.plural(executed, "time") : "") + (l[2] && manyRuns ? " in " + cairn.format.plural(l[2], "run") : "") + (l[4] ? ", " + l[3] + " of " + cairn.format.plural(l[4], "block") : "") : "";
      return el("div", { class: "line " + state + (partly ? " partly" : "") + (n === marked ? " marked" : ""), style: { top: (n - from) * height + "px" } },
        el("a", { class: "no", href: cairn.href({ view: "source", file: source.path, line: String(n) }), tabindex: "-1" }, String(n)),
        el("span", { class: "state", title: text, "aria-label": text, role: text ? "img" : null }, state ? (partly ? "◐" : marks[state]) : ""),
        el("span", { class: "runs num", title: text }, runs),
        el("span", { class: "blk num", title: text }, l && l[4] > 1 ? l[3] + "/" + l[4] : ""),
        el("code", null, tokens.map(function (t) { return t[1] ? el("span", { class: "tk-" + t[1] }, t[0]) : t[0]; })),
        begin !== undefined && model.functions[begin].key !== options.own ? cairn.link({ view: "function", f: model.functions[begin].key }, describe(model.functions[begin]), { class: "about" }) : null,
        inlined.has(n) ? [...inlined.get(n).values()].slice(0, 6).map(function (c) {
          return el("span", { class: "inlined " + (c.ran ? "ran" : "missed"), title: "The compiler inlined " + x.full(c.callee) + " here; its code " + (c.ran ? "ran" : "did not run") },
            "↳ ", cairn.functionLink(model, c.callee), c.ran ? "" : " ✕");
        }) : null);
    }

    /** describe says in a few words what is known of a function. */
    function describe(f) {
      const words = [];
      if (f.calls !== undefined) words.push((f.at_least && f.calls ? "≥ " : "") + cairn.format.plural(f.calls, "call"));
      else if (f.mode) words.push(f.runs ? "ran" : "did not run");
      else if (f.absent) words.push(f.runs ? "ran" : f.unknown ? "may have run" : "did not run", f.absent);
      if (f.inlined) words.push("inlined " + cairn.format.plural(f.inlined.copies, "time"));
      if (f.parts && f.parts.length > 1) words.push("in " + f.parts.length + " parts");
      if (f.spikes) words.push("spike of " + cairn.format.duration(f.spikes.worst_ns));
      if (f.time && model.calls.unit === "ns") words.push(cairn.format.sum(f.time.total, model.calls.step, cairn.format.duration));
      if (f.samples) words.push(cairn.format.plural(f.samples.total, "sample"));
      return words.join(" · ") || "details";
    }

    function draw() {
      const a = Math.max(0, Math.floor(scroll.scrollTop / height) - 15);
      const z = Math.min(count, Math.ceil((scroll.scrollTop + scroll.clientHeight) / height) + 15);
      if (drawn && drawn[0] === a && drawn[1] === z && drawn[2] === marked) return;
      drawn = [a, z, marked];
      const tokens = colour(lines, from - 1 + a, from - 1 + z, mode);
      body.replaceChildren(...tokens.map(function (t, i) { return row(from + a + i, t); }));
      frame();
    }

    /** frame draws the ruler: the states of all lines, and what of them is on the screen. */
    function frame() {
      const h = scroll.clientHeight, w = 14, scale = window.devicePixelRatio || 1;
      if (!h || !count) return;
      if (ruler.height !== Math.round(h * scale)) {
        ruler.width = w * scale;
        ruler.height = Math.round(h * scale);
        ruler.style.height = h + "px";
      }
      const g = ruler.getContext("2d"), css = getComputedStyle(document.documentElement);
      g.setTransform(scale, 0, 0, scale, 0, 0);
      g.clearRect(0, 0, w, h);
      const colours = ["--missed", "--unknown", "--meter"].map(function (c) { return css.getPropertyValue(c); });
      const thick = Math.max(1, h / count);
      g.globalAlpha = 0.75;
      for (const l of source.lines) {
        if (l[0] < from || l[0] > to) continue;
        g.fillStyle = colours[l[1]];
        g.fillRect(l[1] === 1 ? 7 : 3, (l[0] - from) / count * h, l[1] === 1 ? 4 : 8, thick);
      }
      g.globalAlpha = 1;
      g.strokeStyle = css.getPropertyValue("--soft");
      g.strokeRect(0.5, scroll.scrollTop / (count * height) * h + 0.5, w - 1, Math.max(4, scroll.clientHeight / (count * height) * h - 1));
    }

    const resized = new ResizeObserver(function () {
      drawn = null;
      draw();
    });
    resized.observe(scroll);
    const themed = function () { frame(); };
    document.addEventListener("cairn-theme", themed);

    return {
      element: element,
      count: count,
      show: function (line) {
        marked = line;
        if (line) scroll.scrollTop = Math.max(0, (line - from) * height - scroll.clientHeight / 3);
        drawn = null;
        draw();
      },
      /** next goes to the next stretch of lines that did not run, or with -1 the one before. */
      next: function (by) {
        const starts = source.lines.filter(function (l, i) { return l[1] === 0 && !(i > 0 && source.lines[i - 1][1] === 0) && l[0] >= from && l[0] <= to; }).map(function (l) { return l[0]; });
        const at = by > 0 ? starts.find(function (n) { return n > marked; }) : starts.findLast(function (n) { return n < marked; });
        if (at) this.show(at);
      },
      destroy: function () {
        resized.disconnect();
        document.removeEventListener("cairn-theme", themed);
      },
    };
  };
})();

/** sourceOf loads a file's source and shows it in root; it returns what code returns, or null. */
cairn.sourceOf = async function (root, ctx, file, options) {
  const f = ctx.model.files[file];
  const said = function (text) { root.replaceChildren(cairn.el("p", { class: "empty" }, text)); };
  if (!f || !f.data) {
    said("Its source lines are not known.");
    return null;
  }
  try {
    const source = await ctx.load(f.data);
    if (!root.isConnected) return null;
    if (source.text === undefined) {
      said("The text of " + f.path + " is not in this report: " + (f.missing || "unknown reason") + ".");
      return null;
    }
    const view = cairn.code(Object.assign({ model: ctx.model, source: source }, options));
    root.replaceChildren(view.element);
    view.show(options.line || 0);
    return view;
  } catch (e) {
    cairn.fail(root, e);
    return null;
  }
};
