/* source.js is the tree of source files with their coverage, and one file. */
(function () {
  const el = cairn.el, format = cairn.format;

  /** tree makes directories of paths: what has one child only is one with it. */
  function tree(model) {
    const top = { name: "", dirs: new Map(), files: [], sum: null };
    model.files.forEach(function (f, i) {
      if (!f.data && !f.functions[1]) return;
      const parts = f.path.split("/");
      let at = top;
      for (const p of parts.slice(0, -1)) {
        if (!at.dirs.has(p)) at.dirs.set(p, { name: p, dirs: new Map(), files: [] });
        at = at.dirs.get(p);
      }
      at.files.push(i);
    });
    const join = function (d) {
      const list = [...d.dirs.values()].map(join);
      d.list = list.sort(function (a, b) { return a.name.localeCompare(b.name); });
      d.sum = { functions: [0, 0], blocks: [0, 0], lines: [0, 0, 0], branches: [0, 0, 0], files: d.files.length };
      for (const f of d.files.map(function (i) { return model.files[i]; }).concat(list.map(function (c) { return c.sum; }))) {
        for (const k of ["functions", "blocks", "lines", "branches"]) if (f[k]) f[k].forEach(function (n, i) { d.sum[k][i] += n; });
      }
      for (const c of list) d.sum.files += c.sum.files;
      if (d !== top && list.length === 1 && !d.files.length) {
        const only = list[0];
        only.name = d.name + "/" + only.name;
        return only;
      }
      return d;
    };
    join(top);
    return top;
  }

  function cells(model, sum) {
    const lines = sum.lines[0] + sum.lines[1] + sum.lines[2];
    const has = model.files.some(function (f) { return f.lines[0] + f.lines[1] + f.lines[2] > 0; });
    const blocks = model.files.some(function (f) { return f.blocks[1] > 0; });
    return [
      has ? el("td", { class: "cover" }, lines ? el("div", null, cairn.meter(sum.lines), el("span", null, format.percent(sum.lines[0], lines))) : "") : null,
      has ? el("td", { class: "num narrow" }, lines ? format.count(lines) : "") : null,
      has ? el("td", { class: "num narrow missed-count" }, sum.lines[1] ? format.count(sum.lines[1]) : "") : null,
      !hasFunctions(model) ? null : el("td", { class: "num" }, sum.functions[1] ? format.count(sum.functions[0]) + " / " + format.count(sum.functions[1]) : ""),
      blocks ? el("td", { class: "num narrow" }, sum.blocks[1] ? format.percent(sum.blocks[0], sum.blocks[1]) : "") : null,
      hasBranches(model) ? branchCell(sum.branches) : null,
    ];
  }

  function hasFunctions(model) { return model.files.some(function (f) { return f.functions[1]; }); }

  function hasBranches(model) { return model.files.some(function (f) { return f.branches; }); }

  /** branchCell shows the share of the ways of branches that were taken, of those of which it is known. */
  function branchCell(sum) {
    const known = sum ? sum[0] + sum[1] : 0;
    if (!known) return el("td", { class: "num narrow" });
    const title = format.count(sum[0]) + " of " + format.plural(known, "way") + " taken" + (sum[2] ? "; of " + format.count(sum[2]) + " it is not known" : "");
    return el("td", { class: "num narrow", title: title }, format.percent(sum[0], known));
  }

  function headings(model) {
    const has = model.files.some(function (f) { return f.lines[0] + f.lines[1] + f.lines[2] > 0; });
    const blocks = model.files.some(function (f) { return f.blocks[1] > 0; });
    return el("thead", null, el("tr", null, el("th", { scope: "col" }, "File"), has ? el("th", { scope: "col" }, "Lines that ran") : null, has ? el("th", { scope: "col", class: "num narrow" }, "Lines") : null,
      has ? el("th", { scope: "col", class: "num narrow" }, "Did not run") : null, hasFunctions(model) ? el("th", { scope: "col", class: "num" }, "Functions") : null, blocks ? el("th", { scope: "col", class: "num narrow" }, "Blocks") : null,
      hasBranches(model) ? el("th", { scope: "col", class: "num narrow" }, "Branches") : null));
  }

  function showTree(root, ctx, route) {
    const model = ctx.model, top = tree(model), open = new Set();
    const body = el("tbody");
    const tally = el("p", { class: "tally", role: "status" });
    let query = route.q || "", sort = route.sort || "name";
    const walk = function (d, path, depth) {
      if (depth >= 0) {
        const key = path + "/" + d.name, is = open.has(key);
        body.append(el("tr", { class: "dir" }, el("td", { style: { "padding-left": depth * 18 + "px" } },
          el("button", { type: "button", class: "fold", "aria-expanded": String(is), onclick() {
            if (is) open.delete(key);
            else open.add(key);
            draw();
          } }, el("span", { "aria-hidden": "true" }, is ? "▾" : "▸"), d.name || "/")), cells(model, d.sum)));
        if (!is) return;
        path = key;
      }
      for (const c of d.list) walk(c, path, depth + 1);
      const files = d.files.slice().sort(function (a, b) { return model.files[a].path.localeCompare(model.files[b].path); });
      for (const i of files) file(i, depth + 1, format.base(model.files[i].path));
    };
    const file = function (i, depth, name) {
      const f = model.files[i];
      body.append(el("tr", null, el("td", { style: { "padding-left": depth * 18 + 18 + "px" } }, cairn.link({ view: "source", file: f.path }, name, { class: "mono" })), cells(model, f)));
    };
    const most = 2000;
    const draw = function () {
      body.replaceChildren();
      if (!query && sort === "name") {
        walk(top, "", -1);
        tally.textContent = format.plural(top.sum.files, "file");
        return;
      }
      let test;
      try {
        test = cairn.matcher(query);
      } catch (e) {
        tally.textContent = e.message;
        return;
      }
      const list = model.files.map(function (f, i) { return i; }).filter(function (i) { return (model.files[i].data || model.files[i].functions[1]) && test(model.files[i].path); });
      if (sort === "missed") list.sort(function (a, b) { return model.files[b].lines[1] - model.files[a].lines[1]; });
      for (const i of list.slice(0, most)) file(i, -1, model.files[i].path);
      tally.textContent = format.plural(list.length, "file") + (list.length > most ? ", the first " + format.count(most) + " are shown" : "");
    };
    // Directories are opened level by level, as long as all fits on a screen.
    const room = 32;
    let rows = top.list.length + top.files.length;
    for (let level = top.list.map(function (d) { return ["/" + d.name, d]; }); level.length; ) {
      const next = [];
      for (const [key, d] of level) {
        if (rows + d.list.length + d.files.length > room && open.size) continue;
        open.add(key);
        rows += d.list.length + d.files.length;
        for (const c of d.list) next.push([key + "/" + c.name, c]);
      }
      level = next;
    }
    const search = cairn.searchField("Search files, or /regular expression/", query, cairn.debounce(function (q) {
      query = q;
      ctx.go(Object.assign({}, route, { q: q, sort: sort === "name" ? "" : sort }), { replace: true });
      draw();
    }, 120));
    const order = el("div");
    const drawOrder = function () {
      order.replaceChildren(cairn.segmented("Order", [["name", "Tree"], ["missed", "Most missed first"]], sort, function (v) {
        sort = v;
        drawOrder();
        draw();
      }));
    };
    if (hasFunctions(model)) drawOrder();
    root.replaceChildren(el("div", { class: "toolbar" }, el("h1", null, "Source"), search, order, tally), el("div", { class: "scroll" }, el("table", { class: "files" }, headings(model), body)));
    draw();
  }

  function showFile(root, ctx, route, file) {
    const model = ctx.model, f = model.files[file], x = cairn.index(model);
    const all = f.lines[0] + f.lines[1] + f.lines[2];
    const code = el("div", { class: "source" }, el("p", { class: "empty" }, "Loading …"));
    const slash = f.path.lastIndexOf("/");
    const jump = el("select", { class: "select", "aria-label": "Go to a function", onchange(e) {
      if (e.target.value) ctx.go(Object.assign({}, route, { line: e.target.value }));
      e.target.selectedIndex = 0;
    } }, el("option", { value: "" }, "Go to a function …"), x.inFile(file).filter(function (id) { return model.functions[id].line; }).map(function (id) {
      const fn = model.functions[id];
      return el("option", { value: String(fn.line) }, (cairn.index(model).ran(fn) ? "" : "✕ ") + x.short(id));
    }));
    root.replaceChildren(
      el("div", { class: "title" }, el("h1", { class: "mono path" }, el("span", { class: "soft" }, f.path.slice(0, slash + 1)), f.path.slice(slash + 1)),
        el("p", { class: "under" }, cairn.link({ view: "source" }, "all files"),
          all ? el("span", { class: "filecover" }, cairn.meter(f.lines), format.percent(f.lines[0], all) + " of " + format.plural(all, "line") + " ran, " + format.count(f.lines[1]) + " did not" + (f.lines[2] ? ", " + format.count(f.lines[2]) + " unknown" : "")) : null,
          f.lines[1] ? el("span", { class: "steps" }, "did not run: ", step(-1, "↑", "Lines before that did not run (p)"), step(1, "↓", "Next lines that did not run (n)")) : null,
          jump)),
      all ? legend() : "", code);
    return cairn.sourceOf(code, ctx, file, { line: Number(route.line) || 0, height: "calc(100vh - 218px)" });
  }

  /** step is a button that goes to lines that did not run. */
  function step(by, text, help) {
    return el("button", { type: "button", class: "icon", title: help, "aria-label": help, onclick() { cairn.nextMissed(by); } }, text);
  }

  function legend() {
    return el("p", { class: "legend" },
      [["ran", "", "ran"], ["ran partly", "◐", "some of its blocks ran"], ["missed", "✕", "did not run"], ["unknown", "?", "unknown"]].map(function (l) {
        return el("span", null, el("span", { class: "line " + l[0] }, el("span", { class: "state" }, l[1])), l[2]);
      }), el("span", null, el("span", { class: "inlined ran" }, "↳ f"), "the compiler inlined f"));
  }

  cairn.view({
    id: "source", title: "Source", key: "s", order: 20,
    available(model) { return model.files.some(function (f) { return f.data; }); },
    mount(root, ctx) {
      let shown = null, view = null, missing = 0;
      function jump(by) {
        if (!view || !shown) return false;
        view.next(by);
        return true;
      }
      cairn.nextMissed = jump;
      function update(route) {
        const path = route.file || "";
        if (shown === path && view) {
          if (route.line) view.show(Number(route.line));
          return;
        }
        if (view) view.destroy();
        view = null;
        shown = path;
        const file = ctx.model.files.findIndex(function (f) { return f.path === path; });
        if (!path) showTree(root, ctx, route);
        else if (file < 0) root.replaceChildren(el("p", { class: "empty" }, "There is no file " + path + " in this report."));
        else {
          const turn = ++missing;
          showFile(root, ctx, route, file).then(function (v) {
            if (turn === missing && shown === path) view = v;
            else if (v) v.destroy();
          });
        }
      }
      update(ctx.route);
      return { update: update, title: function () { return shown ? format.base(shown) : "Source"; }, destroy() { shown = null; missing++; if (view) view.destroy(); } };
    },
  });
  cairn.key("n", "Next lines that did not run", function () { return cairn.nextMissed ? cairn.nextMissed(1) : false; }, { view: "source" });
  cairn.key("p", "Lines before that did not run", function () { return cairn.nextMissed ? cairn.nextMissed(-1) : false; }, { view: "source" });
})();
