/* functions.js is the table of all functions. */
(function () {
  const el = cairn.el, format = cairn.format;

  /** columns are those that the model has anything for. */
  function columns(model) {
    const x = cairn.index(model), unit = model.calls && model.calls.unit, any = function (f) { return model.functions.some(f); };
    const time = function (n) { return unit === "ns" ? format.duration(n) : format.count(n); };
    const sum = function (n) { return format.sum(n, model.calls.step, time); };
    const narrow = window.matchMedia("(max-width: 720px)").matches;
    const list = [
      { id: "name", title: "Function", width: narrow ? "minmax(150px, 3fr)" : "minmax(220px, 3fr)", value: function (f) { return x.short(f.id).toLowerCase(); },
        cell: function (f) { return [mark(model, x, f), cairn.functionLink(model, f.id)]; } },
      { id: "place", title: "Source", width: "minmax(110px, 1fr)", value: function (f) { return f.file < 0 ? undefined : model.files[f.file].path + ":" + String(f.line || 0).padStart(8, "0"); },
        cell: function (f) { return f.file < 0 ? "" : cairn.link({ view: "source", file: model.files[f.file].path, line: f.line }, cairn.placeOf(model, f), { class: "place" }); } },
    ];
    const add = function (has, column) { if (any(has)) list.push(Object.assign({ num: true, width: "88px" }, column)); };
    add(function (f) { return f.calls !== undefined; }, { id: "calls", title: "Calls", help: "Calls in all runs", width: "104px",
      value: function (f) { return f.calls; }, cell: function (f) { return f.calls === undefined ? "" : [cairn.atLeast(f.at_least && f.calls > 0), format.count(f.calls)]; } });
    add(function (f) { return f.of_runs > 1; }, { id: "runs", title: "Runs", help: "Runs in which it ran", width: "72px",
      value: function (f) { return f.mode ? f.runs || 0 : undefined; }, cell: function (f) { return f.mode ? (f.runs || 0) + "/" + f.of_runs : ""; } });
    add(function (f) { return f.lines; }, { id: "lines", title: "Lines", help: "Source lines that ran; hatched: unknown", width: "124px",
      value: function (f) { return f.lines && f.lines[0] / (f.lines[0] + f.lines[1] + f.lines[2]); }, cell: function (f) { return f.lines ? share(f.lines[0], f.lines[0] + f.lines[1] + f.lines[2], f.lines) : ""; } });
    add(function (f) { return f.blocks; }, { id: "blocks", title: "Blocks", help: "Basic blocks that ran", width: "124px",
      value: function (f) { return f.blocks && f.blocks[0] / f.blocks[1]; }, cell: function (f) { return f.blocks ? share(f.blocks[0], f.blocks[1], f.blocks) : ""; } });
    add(function (f) { return f.time; }, { id: "self", title: "Self", help: "Time in the function itself, in the log", value: function (f) { return f.time && f.time.self; }, cell: function (f) { return f.time ? sum(f.time.self) : ""; } });
    add(function (f) { return f.time; }, { id: "total", title: "Total", help: "Time with callees, in the log", value: function (f) { return f.time && f.time.total; }, cell: function (f) { return f.time ? sum(f.time.total) : ""; } });
    add(function (f) { return f.time && f.time.waits; }, { id: "waits", title: "Waits", help: "Part of the total in which threads waited", value: function (f) { return f.time && f.time.waits; }, cell: function (f) { return f.time && f.time.waits ? time(f.time.waits) : ""; } });
    add(function (f) { return f.samples; }, { id: "sampled", title: "Samples", help: "Samples in the function itself", width: "80px", value: function (f) { return f.samples && f.samples.self; }, cell: function (f) { return f.samples ? format.count(f.samples.self) : ""; } });
    add(function (f) { return f.spikes; }, { id: "spikes", title: "Worst spike", value: function (f) { return f.spikes && f.spikes.worst_ns; }, cell: function (f) { return f.spikes ? format.duration(f.spikes.worst_ns) : ""; } });
    add(function (f) { return f.change; }, { id: "change", title: "Change", help: "Calls in a run, against the other input", width: "104px", value: function (f) { return f.change && Math.abs((f.change.now || 0) - (f.change.before || 0)); }, cell: function (f) { return change(f); } });
    add(function (f) { return f.order; }, { id: "order", title: "First run", help: "Mean place in the order of first executions", width: "80px", value: function (f) { return f.order; }, cell: function (f) { return f.order ? format.count(Math.round(f.order)) : ""; } });
    add(function (f) { return f.size; }, { id: "size", title: "Bytes", help: "Size of its code", width: "76px", value: function (f) { return f.size; }, cell: function (f) { return f.size ? format.count(f.size) : ""; } });
    if (narrow) list.push(...list.splice(1, 1)); // numbers ahead of places
    return list;
  }

  function share(part, whole, counts) {
    return el("span", { class: "share" }, cairn.meter(counts), el("span", null, format.percent(part, whole)));
  }

  const kinds = { new: "new", gone: "gone", only_now: "runs now", only_then: "ran before", blocks: "other blocks", calls: "" };
  function change(f) {
    const c = f.change;
    if (!c) return "";
    const by = (c.now || 0) - (c.before || 0);
    const text = kinds[c.kind] || (by > 0 ? "+" : by < 0 ? "−" : "±") + format.short(Math.abs(Math.round(by * 10) / 10));
    return el("span", { class: "change", title: format.mean(c.before || 0) + " → " + format.mean(c.now || 0) + " calls in a run" }, text);
  }

  /** unprobed reports whether a function of a profile's programs has no probes: those that logs of calls have, have some, and of
      a report without a profile it is not known. */
  cairn.unprobed = function (model, f) { return model.modules.length > 0 && !f.mode && !f.absent && !f.inlined && !f.time; };

  /** mark says by shape and colour what became of a function. */
  function mark(model, x, f) {
    const state = f.absent ? (f.runs ? "ran" : f.unknown ? "outside" : "missed") : f.mode ? (f.runs ? "ran" : "missed") : f.inlined ? "inlined" : cairn.unprobed(model, f) ? "outside" : "ran";
    const text = { ran: "ran", missed: "did not run", inlined: "only inlined", outside: "without probes" }[state] + (f.absent ? " (" + f.absent + ")" : "");
    return el("span", { class: "mark " + state, title: text, role: "img", "aria-label": text });
  }
  cairn.functionMark = mark;

  /** tallyOf counts functions; those that exist only inlined in others, or have no probes, apart from these. */
  function tallyOf(model, rows) {
    const inlined = rows.filter(function (f) { return !f.mode && !f.absent && f.inlined; }).length;
    const others = rows.filter(function (f) { return cairn.unprobed(model, f); }).length;
    const own = rows.length - others - inlined;
    return [format.plural(own, "function"), inlined ? format.count(inlined) + " only inlined" : "", others ? format.count(others) + " without probes" : ""].filter(Boolean).join(", ");
  }

  const filters = [
    ["", "All", function () { return true; }],
    ["ran", "Ran", function (f) { return f.runs; }],
    ["missed", "Did not run", function (f) { return (f.mode || f.absent && !f.unknown) && !f.runs; }],
    ["partly", "Partly", function (f) { return f.blocks && f.blocks[0] > 0 && f.blocks[0] < f.blocks[1]; }],
    ["inlined", "Inlined", function (f) { return f.inlined; }],
    ["split", "Split", function (f) { return f.parts; }],
    ["spikes", "Spikes", function (f) { return f.spikes; }],
    ["sampled", "Sampled", function (f) { return f.samples; }],
    ["changed", "Changed", function (f) { return f.change; }],
    ["absent", "Not in the program", function (f) { return f.absent; }],
    ["outside", "No probes", function (f, model) { return f.absent ? f.unknown : cairn.unprobed(model, f); }],
  ];

  cairn.view({
    id: "functions", title: "Functions", key: "f", order: 10,
    available(model) { return model.functions.length > 0; },
    mount(root, ctx) {
      const model = ctx.model, x = cairn.index(model), all = columns(model);
      const counts = filters.map(function (f) { return model.functions.filter(function (fn) { return f[2](fn, model); }).length; });
      const usual = all.find(function (c) { return ["total", "calls", "sampled", "spikes", "lines"].includes(c.id); }) || all[0];
      let route = ctx.route;
      const grid = cairn.grid({
        label: "Functions", columns: all,
        onSort(s) { change({ sort: s.id + (s.desc ? "-" : "") }); },
        onOpen(f) { ctx.go({ view: "function", f: f.key }); },
      });
      const search = cairn.searchField("Search, or /regular expression/", route.q, cairn.debounce(function (q) { change({ q: q }); }, 120));
      search.addEventListener("keydown", function (e) {
        if (e.key === "ArrowDown" || e.key === "Enter") {
          e.preventDefault();
          grid.element.focus();
          if (e.key === "Enter" && shown === 1) grid.open();
        }
      });
      const chips = el("div"), tally = el("p", { class: "tally", role: "status" });
      root.append(
        el("div", { class: "toolbar" }, el("h1", null, "Functions"), search, chips, tally),
        grid.element);
      let shown = 0, was = "";

      function change(values) { ctx.go(Object.assign({}, route, values), { replace: true }); }

      function update(next) {
        route = next;
        const sort = route.sort || usual.id + (usual.num && usual.id !== "lines" ? "-" : ""); // what was not tested comes first
        grid.setSort({ id: sort.replace(/-$/, ""), desc: sort.endsWith("-") });
        const state = JSON.stringify([route.q, route.only, route.sort]);
        if (state === was) return;
        was = state;
        chips.replaceChildren(cairn.segmented("Which", filters.map(function (f, i) { return [f[0], f[1], counts[i]]; })
          .filter(function (f) { return f[2] > 0 && (f[0] === "" || f[2] < model.functions.length); }), route.only || "", function (v) { change({ only: v }); }));
        let test;
        search.removeAttribute("aria-invalid");
        try {
          test = cairn.matcher(route.q || "");
        } catch (e) {
          search.setAttribute("aria-invalid", "true");
          tally.textContent = e.message;
          return;
        }
        const only = (filters.find(function (f) { return f[0] === (route.only || ""); }) || filters[0])[2];
        const rows = model.functions.filter(function (f) { return only(f, model) && (test(x.full(f.id)) || f.name && test(f.symbol)); });
        shown = rows.length;
        tally.textContent = rows.length < model.functions.length ? format.count(rows.length) + " of " + format.count(model.functions.length) : tallyOf(model, rows);
        grid.setRows(rows);
      }
      update(route);
      cairn.focusSearch = function () { search.focus(); search.select(); };
      return { update: update, destroy() { grid.destroy(); } };
    },
  });

  cairn.key("/", "Search functions", function () {
    if (!cairn.model || !cairn.model.functions.length) return false;
    if (cairn.route.view !== "functions") cairn.go({ view: "functions" });
    setTimeout(function () { cairn.focusSearch(); }, 30);
    return true;
  });
  for (const [key, by, help] of [["j", 1, "Next row"], ["k", -1, "Row before"]]) {
    cairn.key(key, help, function () {
      const grid = document.querySelector("#view .grid");
      if (!grid) return false;
      grid.focus();
      grid.dispatchEvent(new KeyboardEvent("keydown", { key: by > 0 ? "ArrowDown" : "ArrowUp" }));
      return true;
    }, { view: "functions" });
  }
})();
