/* names.js finds things in the model: functions by key, callers and callees, names to show. */
cairn.index = (function () {
  let of = null, made = null;

  /** short is a name without parameters and template arguments. */
  function short(name) {
    if (!/[(<]/.test(name) || name.startsWith("operator")) return name;
    let out = "", angle = 0, round = 0;
    for (let i = 0; i < name.length; i++) {
      const c = name[i];
      if (name.startsWith("operator", i) && (i === 0 || name[i - 1] === ":")) return out + name.slice(i).replace(/\(.*$/, "");
      if (name.startsWith("(anonymous namespace)", i) && !angle && !round) {
        out += "(anonymous)";
        i += 20;
      } else if (c === "(" && !angle && !round && /^\(\*[^()]*\)\./.test(name.slice(i))) { // a receiver of Go
        const end = name.indexOf(")", i);
        out += name.slice(i, end + 1);
        i = end;
      } else if (c === "<") angle++;
      else if (c === ">") angle--;
      else if (c === "(") round++;
      else if (c === ")") round--;
      else if (!angle && !round) out += c;
    }
    out = out.replace(/ (const|volatile|&|&&|\[clone.*\])+$/, "").trim();
    return out.replace(/^.* (?=[^ ]+$)/, "") || name; // the type of what a template returns
  }

  function build(model) {
    const callers = new Map(), callees = new Map(), byKey = new Map(), bySymbol = new Map(), byFile = new Map(), full = [], brief = [], of = new Map();
    model.functions.forEach(function (f) {
      const name = f.name || f.symbol;
      if (f.module !== undefined) of.set(name, of.has(name) && of.get(name) !== f.module ? -1 : f.module);
    });
    /* program is the module of a function whose name functions of other modules have as well, such as main. */
    function program(f) {
      const m = of.get(f.name || f.symbol) === -1 && model.modules[f.module];
      return m ? " (" + m.name + ")" : "";
    }
    model.functions.forEach(function (f, i) {
      f.id = i;
      byKey.set(f.key, i);
      if (!bySymbol.has(f.symbol)) bySymbol.set(f.symbol, i);
      full.push((f.name || f.symbol) + program(f));
      brief.push(short(f.name || f.symbol) + program(f));
      if (f.file >= 0) {
        if (!byFile.has(f.file)) byFile.set(f.file, []);
        byFile.get(f.file).push(i);
      }
    });
    for (const e of model.edges) {
      for (const [map, at] of [[callees, e.from], [callers, e.to]]) {
        if (!map.has(at)) map.set(at, []);
        map.get(at).push(e);
      }
    }
    for (const map of [callers, callees]) for (const list of map.values()) list.sort(function (a, b) { return weight(b) - weight(a); });
    for (const list of byFile.values()) list.sort(function (a, b) { return model.functions[a].line - model.functions[b].line; });
    return {
      byKey: byKey, bySymbol: bySymbol,
      callers: function (id) { return callers.get(id) || []; },
      callees: function (id) { return callees.get(id) || []; },
      inFile: function (file) { return byFile.get(file) || []; },
      full: function (id) { return full[id]; },
      short: function (id) { return brief[id]; },
      ran: function (f) { return f.runs > 0 || Boolean(f.inlined && f.inlined.ran > 0 || f.time || f.samples || f.spikes); },
    };
  }

  /** weight orders edges: time, then samples, then calls, then what the profile saw. */
  function weight(e) { return (e.total || 0) * 1e6 + (e.samples || 0) * 1e3 + (e.calls || 0) + (e.runs || 0) + (e.kind === "observed" ? 2 : e.kind === "implied" ? 1 : 0) / 10; }

  return function (model) {
    if (of !== model) {
      of = model;
      made = build(model);
    }
    return made;
  };
})();

/** functionLink is a link to a function. */
cairn.functionLink = function (model, id, attributes) {
  const x = cairn.index(model);
  return cairn.link({ view: "function", f: model.functions[id].key }, x.short(id), Object.assign({ class: "fn", title: x.full(id) }, attributes));
};

/** placeOf is "file.c:12", short. */
cairn.placeOf = function (model, f) {
  if (f.file < 0) return "";
  return cairn.format.base(model.files[f.file].path) + (f.line ? ":" + f.line : "");
};

// Views find f.id in each function.
document.addEventListener("cairn-model", function () { cairn.index(cairn.model); });

/** distinct returns each function with probes once, as {f, ran}: one that several programs have is one, and ran if it did in any. */
cairn.distinct = function (model) {
  const found = new Map();
  for (const f of model.functions) {
    if (!f.mode) continue;
    const place = f.symbol + " " + f.file + " " + f.line, was = found.get(place);
    if (!was) found.set(place, { f: f, ran: Boolean(f.runs) });
    else was.ran = was.ran || Boolean(f.runs);
  }
  return [...found.values()];
};
