/* overview.js shows what was recorded: the figures that matter, what is uncertain, what changed. */
(function () {
  const el = cairn.el, format = cairn.format;

  /** figures are how each figure is shown: [name, number, note, meter, route]. */
  const figures = {
    functions: function (f) { const known = f.of - (f.unknown || 0); return ["Functions that ran", format.percent(f.value, known), format.count(f.value) + " of " + format.count(known) + (f.unknown ? "; " + format.count(f.unknown) + " more unknown" : ""), [f.value, f.of - f.value - (f.unknown || 0), f.unknown || 0], { view: "functions", only: "missed" }]; },
    lines: function (f) { return ["Lines that ran", format.percent(f.value, f.of), f.unknown ? format.percent(f.unknown, f.of) + " unknown; of the rest " + format.percent(f.value, f.of - f.unknown) : format.count(f.value) + " of " + format.count(f.of), [f.value, f.of - f.value - (f.unknown || 0), f.unknown || 0], { view: "source" }]; },
    blocks: function (f) { return ["Blocks that ran", format.percent(f.value, f.of), format.count(f.value) + " of " + format.count(f.of), [f.value, f.of], { view: "functions", only: "partly" }]; },
    calls: function (f) { return ["Calls", (f.at_least ? "≥ " : "") + format.short(f.value), f.at_least ? "a lower bound" : format.count(f.value), null, { view: "functions", sort: "calls-" }]; },
    pages: function (f) { return ["Pages a run touches", format.count(Math.round(f.value)), f.then && f.then < f.value ? format.count(Math.round(f.then)) + " with the functions in order" : "of " + format.count(f.of), f.then ? [f.then, f.value] : null, { view: "pages" }]; },
    spikes: function (f, model) { const late = model.spikes && model.spikes.late; return ["Longest spike", format.duration(f.value), format.plural(f.of, "stack") + (late ? ", which " + (f.of === 1 ? "explains " : "explain ") + format.percent(late.explained_ns, late.time_ns) + " of late time" : ""), late ? [late.explained_ns, late.time_ns] : null, { view: "spikes" }]; },
    time: function (f, model) { return ["Time in calls", model.calls.unit === "ns" ? format.duration(f.value) : format.short(f.value) + " ticks", model.calls.waits ? (model.calls.unit === "ns" ? format.duration(model.calls.processor) : format.short(model.calls.processor)) + " of it outside of waits" : format.plural(f.of, "call") + ", " + format.plural(model.calls.threads, "thread"), null, { view: "functions", sort: "self-" }]; },
    samples: function (f) { return ["Samples", format.short(f.of), f.value ? format.percent(f.value, f.of) + " with restored frames" : "no frame was missing", f.value ? [f.value, f.of] : null, { view: "samples" }]; },
  };

  function figure(f, model) {
    const [name, number, note, meter, route] = figures[f.id](f, model);
    const before = f.has_before ? f.of ? format.percent(f.before, model.changes.functions[0][1]) : format.short(f.before) : null;
    return el("a", { class: "figure", href: cairn.href(route) },
      el("span", { class: "name" }, name), el("strong", null, number), el("span", { class: "note" }, note),
      meter ? cairn.meter(meter) : null,
      before ? el("span", { class: "before" }, "before: " + before + (f.id === "functions" && f.of !== model.changes.functions[1][1] ? " of those with code of their own" : "")) : null);
  }

  /** findings are sentences of what to look at first, each a link to the view that shows it, or several. */
  function findings(model) {
    if (!model.findings) return null;
    return el("ol", { class: "findings", "aria-label": "What to look at first" }, model.findings.map(function (f) {
      const to = function (p) { return p.view ? el("a", { href: cairn.href(Object.assign({ view: p.view }, p.with)) }, p.text) : p.text; };
      return el("li", { class: f.kind }, f.parts ? el("p", null, f.parts.map(to)) : to(f));
    }));
  }

  /** lead puts the sentences and the picture side by side. */
  function lead(sentences, picture) {
    return sentences && picture ? el("div", { class: "lead" }, sentences, picture) : sentences || picture;
  }

  function modules(model) {
    if (!model.modules.length) return null;
    return el("section", { class: "card" }, el("h2", null, model.modules.length > 1 ? "Programs" : "Program"),
      el("div", { class: "scroll" }, el("table", null,
        el("thead", null, el("tr", null, ["Name", "Build", "Machine", "Mode", "Runs", "Functions", "Lines"].map(function (t, i) { return el("th", { class: i > 3 && i < 6 ? "num" : "" }, t); }))),
        el("tbody", null, model.modules.map(function (m) {
          return el("tr", null, el("td", null, el("strong", null, m.name)), el("td", { class: "mono", title: m.build_id }, (m.build_id || "").slice(0, 12)), el("td", null, m.machine || ""),
            el("td", null, m.modes.join(", ")), el("td", { class: "num" }, format.count(m.runs)), el("td", { class: "num" }, format.count(m.functions[1])), el("td", null, m.lines ? "known" : "unknown"));
        })))));
  }

  function scenarios(model) {
    if (!model.scenarios) return null;
    const most = Math.max(...model.scenarios.map(function (s) { return s.functions; }));
    return el("section", { class: "card" }, el("h2", null, "Scenarios"),
      el("table", null,
        el("thead", null, el("tr", null, el("th", null, "Name"), el("th", { class: "num" }, "Runs"), el("th", { class: "num" }, "Functions"), el("th", null, el("span", { class: "unseen" }, "Share")))),
        el("tbody", null, model.scenarios.map(function (s) {
          return el("tr", null, el("td", null, model.pages ? cairn.link({ view: "pages", scenario: s.name }, s.name || "(no name)") : s.name || "(no name)"),
            el("td", { class: "num" }, format.count(s.runs)), el("td", { class: "num" }, format.count(Math.round(s.functions))),
            el("td", { class: "wide" }, el("span", { class: "weight" }, el("i", { style: { width: 100 * s.functions / most + "%" } }))));
        }))));
  }

  const changeNames = { only_then: "ran before, not now", only_now: "run now, not before", gone: "ran before, are gone", new: "run now, are new", blocks: "run other blocks", calls: "are called more or less often" };
  function changes(model) {
    const c = model.changes;
    if (!c) return null;
    return el("section", { class: "card wide" }, el("h2", null, "Against ", el("span", { class: "mono" }, format.base(c.against))),
      el("p", { class: "soft" }, format.count(c.both) + " functions ran in both, " + format.count(c.same) + " of them without a difference. " +
        format.plural(c.runs[0], "run") + " then, " + format.count(c.runs[1]) + " now."),
      c.lists.length ? null : el("p", null, "Nothing differs."),
      el("div", { class: "lists" }, c.lists.map(function (l) {
        const shown = l.functions.slice(0, 8);
        return el("div", null, el("h3", null, format.count(l.count) + " " + changeNames[l.kind]),
          el("ul", { class: "plain" }, shown.map(function (id) {
            const ch = model.functions[id].change;
            return el("li", null, cairn.functionLink(model, id), l.kind === "calls" && ch ? el("small", null, format.mean(ch.before || 0) + " → " + format.mean(ch.now || 0) + " a run") :
              l.kind === "blocks" && ch ? el("small", null, "−" + (ch.lost || 0) + " +" + (ch.gained || 0) + " blocks") : null);
          })),
          l.count > shown.length ? cairn.link({ view: "functions", only: "changed", sort: "change-" }, "all of them") : null);
      })));
  }

  /** waits says what threads waited for, apart from the time on a processor. */
  function waits(model) {
    const list = model.calls && model.calls.waits;
    if (!list || !list.length) return null;
    const time = function (n) { return model.calls.unit === "ns" ? format.duration(n) : format.short(n); };
    const busy = list.map(function (w) { return w.time - (w.idle || 0); });
    const all = busy.reduce(function (a, b) { return a + b; }, 0), idle = list.reduce(function (a, w) { return a + (w.idle || 0); }, 0);
    return el("section", { class: "card" }, el("h2", null, "Waiting"),
      el("p", { class: "soft" }, time(all) + " of the " + time(all + idle + (model.calls.processor || 0)) + " of all threads" + (idle ? "; " + time(idle) + " more for work, with nothing begun" : "") + "."),
      el("table", null,
        el("thead", null, el("tr", null, el("th", null, "For"), el("th", { class: "num" }, "Waits"), el("th", { class: "num" }, "Time"), el("th", { class: "num" }, "Share"), el("th", null, "Most of it in"))),
        el("tbody", null, list.map(function (w, i) {
          return busy[i] === 0 && w.idle ? null : el("tr", null, el("td", null, w.for), el("td", { class: "num" }, format.count(w.count)), el("td", { class: "num" }, time(busy[i])),
            el("td", { class: "num" }, all ? format.percent(busy[i], all) : ""), el("td", null, w.most === undefined ? "" : cairn.functionLink(model, w.most)));
        }))));
  }

  /** tops are short lists of what matters most: where to look first. */
  function tops(model) {
    const list = [];
    const top = function (title, of, value, text, route) {
      const rows = model.functions.filter(of).sort(function (a, b) { return value(b) - value(a); }).slice(0, 8);
      if (!rows.length) return;
      const most = value(rows[0]);
      list.push(el("section", { class: "card" }, el("h2", null, cairn.link(route, title)),
        el("ol", { class: "top" }, rows.map(function (f) {
          return el("li", null, cairn.functionLink(model, f.id), el("span", { class: "weight" }, el("i", { style: { width: 100 * value(f) / most + "%" } })), el("span", { class: "num" }, text(f)));
        }))));
    };
    const ns = model.calls && model.calls.unit === "ns";
    top("Most self time", function (f) { return f.time; }, function (f) { return f.time.self; }, function (f) { return ns ? format.duration(f.time.self) : format.short(f.time.self); }, { view: "functions", sort: "self-" });
    top("Longest spikes", function (f) { return f.spikes; }, function (f) { return f.spikes.worst_ns; }, function (f) { return format.duration(f.spikes.worst_ns); }, { view: "spikes" });
    top("Most samples", function (f) { return f.samples && f.samples.self; }, function (f) { return f.samples.self; }, function (f) { return format.count(f.samples.self); }, { view: "functions", sort: "sampled-" });
    top("Most calls", function (f) { return f.calls; }, function (f) { return f.calls; }, function (f) { return (f.at_least ? "≥ " : "") + format.count(f.calls); }, { view: "functions", sort: "calls-" });
    const missed = function (f) { return f.runs && f.lines && f.lines[1] > 3 ? f.lines[1] : 0; };
    top("Most lines that did not run", missed, missed, function (f) { return format.count(missed(f)); }, { view: "functions", only: "partly", sort: "lines" });
    const idle = new Set(cairn.distinct(model).filter(function (d) { return !d.ran; }).map(function (d) { return d.f; }));
    const unused = function (f) { return idle.has(f) ? f.size : 0; };
    top("Largest functions that did not run", unused, unused, function (f) { return format.bytes(unused(f)); }, { view: "functions", only: "missed", sort: "size-" });
    return list.slice(0, 4);
  }

  function sentences(title, list, kind) {
    if (!list.length) return null;
    return el("section", { class: "card " + kind }, el("h2", null, title), el("ul", { class: "sentences" }, list.map(function (s) { return el("li", null, s); })));
  }

  function inputs(model) {
    return el("section", { class: "card wide" }, el("h2", null, "Inputs"),
      el("ul", { class: "plain inputs" }, model.inputs.map(function (i) {
        return el("li", null, el("span", { class: "kind" }, i.kind), el("span", { class: "mono path" }, i.path),
          el("small", null, (i.files ? format.plural(i.files, "file") + ", " : "") + (i.bytes ? format.bytes(i.bytes) : "")));
      })),
      model.generator ? el("p", { class: "soft" }, "Made by cairn " + model.generator + ".") : null);
  }

  cairn.view({
    id: "overview", title: "Overview", key: "o", order: 0,
    mount(root, ctx) {
      const model = ctx.model;
      const runs = model.runs || 0, pictures = cairn.lead.pictures(model, ctx);
      root.append(
        el("div", { class: "hero" }, el("h1", null, model.title),
          el("p", { class: "soft" }, [
            runs ? (model.runs_at_least ? "at least " : "") + format.plural(runs, "run") : "", model.scenarios && model.scenarios.length > 1 ? format.plural(model.scenarios.length, "scenario") : "",
            [...new Set(model.modules.flatMap(function (m) { return m.modes; }))].map(function (m) { return "mode " + m; }).join(", "),
            [...new Set(model.modules.map(function (m) { return m.machine; }).filter(Boolean))].join(", "),
          ].filter(Boolean).join(" · "))),
        lead(findings(model), pictures.length ? pictures[0].element : null) || "",
        el("div", { class: "figures" }, model.figures.slice(0, 5).map(function (f) { return figure(f, model); })),
        el("div", { class: "cards" }, pictures.slice(1).map(function (p) { return el("section", { class: "card wide" }, p.element); }), changes(model), tops(model), waits(model), sentences("What is uncertain", model.uncertain, "uncertain"), sentences("What is left out", model.limits, ""),
          modules(model), scenarios(model), inputs(model)));
      return { update() {}, destroy() { for (const p of pictures) p.destroy(); } };
    },
  });
})();
