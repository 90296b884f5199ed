/* costs.js is the table of functions beside a flame graph or a part of the time line. */
cairn.costs = (function () {
  const LIMIT = 500;

  /**
   * text writes a cost of a tree. In an approximate one numbers of calls and maxima are lower
   * bounds, "" if nothing is known, and times are marked.
   */
  function text(t, key, v) {
    const bound = t.approximate && (key === "calls" || key === "max");
    if (bound && !v) return "";
    const mark = bound ? "≥ " : t.approximate ? "≈ " : "";
    if (key === "calls" || t.unit !== "ns") return mark + cairn.format.count(Math.round(v));
    if (key === "max") return t.single ? mark + cairn.format.coarse(v, t.step, cairn.format.duration) : "";
    return mark + cairn.format.sum(v, t.step, cairn.format.duration);
  }

  /**
   * Table is a table of the functions of a tree. options: {pick(name)}. It has at most LIMIT rows until all are
   * asked for.
   */
  function Table(root, options) {
    const el = cairn.el;
    let tree = null, sort = "self", up = false, test = null, picked = -1, limit = LIMIT;

    function columns() {
      const unit = tree.unit === "ns" || tree.unit === "ticks" ? "" : " " + tree.unit;
      const list = tree.sampled ? [["total", "Total" + unit], ["self", "Self" + unit]] : [["calls", "Calls"], ["total", "Total"], ["self", "Self"], ["max", "Longest"]];
      if (tree.sides.length === 2) return list.slice(0, 3).flatMap(function (c) { return [[c[0], c[1], 0], [c[0], "Change", 1]]; });
      return list.map(function (c) { return [c[0], c[1], 0]; });
    }

    function value(f, key, change) {
      if (tree.sides.length < 2) return f[key][0];
      return change ? f[key][1] - f[key][0] : f[key][1];
    }

    function cell(f, c) {
      const v = value(f, c[0], c[2]), whole = tree.root.total[0];
      if (!c[2]) return el("td", { title: c[0] !== "calls" && c[0] !== "max" && tree.sides.length === 1 && !tree.approximate ? cairn.format.percent(v, whole) : null }, text(tree, c[0], v));
      return el("td", { class: v > 0 ? "worse" : v < 0 ? "better" : null }, (v > 0 ? "+" : v < 0 ? "−" : "") + text(tree, c[0], Math.abs(v)));
    }

    function header(title, key, on) {
      return el("th", { scope: "col", "aria-sort": on ? (up ? "ascending" : "descending") : null }, el("button", {
        type: "button", "data-sort": key, onclick() {
          up = sort === key && on ? !up : key === "name";
          sort = key;
          draw();
        },
      }, title + (on ? (up ? " ↑" : " ↓") : "")));
    }

    function draw() {
      if (!tree) return;
      const cols = columns(), names = tree.names;
      const at = sort === "name" ? null : cols.find(function (c) { return c[0] + (c[2] || "") === sort; }) || cols[cols.length > 2 && tree.sides.length < 2 && !tree.sampled ? 2 : 1];
      const rows = tree.functions.filter(function (f) { return !test || test(names[f.name]); });
      const rank = function (f) { return at[2] ? Math.abs(value(f, at[0], 1)) : value(f, at[0], 0); };
      const byName = function (a, b) { return names[a.name] < names[b.name] ? -1 : names[a.name] > names[b.name] ? 1 : 0; };
      rows.sort(function (a, b) { return at ? (up ? rank(a) - rank(b) : rank(b) - rank(a)) || byName(a, b) : up ? byName(a, b) : byName(b, a); });
      const head = el("tr", null, header("Function", "name", !at), cols.map(function (c) { return header(c[1], c[0] + (c[2] || ""), c === at); }));
      const body = rows.slice(0, limit).map(function (f) {
        const name = names[f.name];
        return el("tr", { "aria-selected": f.name === picked ? "true" : null },
          el("td", { title: name }, el("button", { type: "button", onclick() { options.pick(f.name); } }, name)), cols.map(function (c) { return cell(f, c); }));
      });
      const more = rows.length > limit ? [el("button", { type: "button", onclick() {
        limit = Infinity;
        draw();
      } }, "Show " + cairn.format.count(rows.length - limit) + " more")] : !rows.length ? ["No function is called that."]
        : tree.unlisted && !test ? [cairn.format.plural(tree.unlisted, "function") + " with less time and no bar are not listed."] : [];
      root.replaceChildren(
        el("div", { class: "tl-table", tabindex: "0", role: "region", "aria-label": "Functions" }, el("table", null, el("thead", null, head), el("tbody", null, body))),
        more.length ? el("p", { class: "tl-note" }, more) : "");
    }

    return {
      show(t) {
        tree = t;
        draw();
      },
      /** filter shows the functions whose names pass a test, null for all. */
      filter(f) {
        test = f;
        draw();
      },
      pick(name) {
        picked = name;
        draw();
      },
    };
  }

  return { Table: Table, text: text };
})();
