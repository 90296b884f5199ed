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
    return mark + cairn.format.duration(v);
  }

  /**
   * Table is a table of the functions of a tree. options: {pick(name), picked, filter, title}. It
   * has at most LIMIT rows, and says so.
   */
  function Table(root, options) {
    const el = cairn.el;
    let tree = null, sort = "self", filter = "", picked = -1;

    function columns() {
      const samples = tree.unit === "samples";
      const list = samples ? [["total", "Total samples"], ["self", "Self samples"]] : [["calls", "Calls"], ["total", "Total"], ["self", "Self"], ["max", "Longest"]];
      if (tree.sides.length === 2) return list.slice(0, 3).flatMap(function (c) { return [[c[0], c[1], 0], [c[0], "Change", 1]]; });
      return list.map(function (c) { return [c[0], c[1], 0]; });
    }

    function value(f, key, change) {
      if (tree.sides.length < 2) return f[key][0];
      return change ? f[key][1] - f[key][0] : f[key][1];
    }

    function cell(f, c) {
      const v = value(f, c[0], c[2]);
      if (!c[2]) return el("td", null, text(tree, c[0], v));
      return el("td", { class: v > 0 ? "worse" : v < 0 ? "better" : null }, (v > 0 ? "+" : v < 0 ? "−" : "") + text(tree, c[0], Math.abs(v)));
    }

    function draw() {
      if (!tree) return;
      const cols = columns();
      const at = cols.find(function (c) { return c[0] + (c[2] || "") === sort; }) || cols[cols.length > 2 && tree.sides.length < 2 && tree.unit !== "samples" ? 2 : 1];
      const wanted = filter.toLowerCase();
      const rows = tree.functions.filter(function (f) { return !wanted || tree.names[f.name].toLowerCase().includes(wanted); });
      const rank = function (f) { return at[2] ? Math.abs(value(f, at[0], 1)) : value(f, at[0], 0); };
      rows.sort(function (a, b) { return rank(b) - rank(a) || (tree.names[a.name] < tree.names[b.name] ? -1 : 1); });
      const head = el("tr", null, el("th", { scope: "col" }, "Function"), cols.map(function (c) {
        const on = c === at;
        return el("th", { scope: "col", "aria-sort": on ? "descending" : null }, el("button", {
          type: "button", onclick() {
            sort = c[0] + (c[2] || "");
            draw();
          },
        }, c[1] + (on ? " ↓" : "")));
      }));
      const body = rows.slice(0, LIMIT).map(function (f) {
        const name = tree.names[f.name];
        return el("tr", { "aria-selected": f.name === picked ? "true" : null },
          el("td", { title: name }, el("button", { type: "button", onclick() { options.pick(f.name); } }, name)), cols.map(function (c) { return cell(f, c); }));
      });
      root.replaceChildren(
        el("div", { class: "tl-table", tabindex: "0", role: "region", "aria-label": "Functions" }, el("table", null, el("thead", null, head), el("tbody", null, body))),
        rows.length > LIMIT ? el("p", { class: "tl-note" }, "The first " + cairn.format.count(LIMIT) + " of " + cairn.format.plural(rows.length, "function") + ".") : null || "");
    }

    return {
      show(t) {
        tree = t;
        draw();
      },
      filter(text) {
        filter = text;
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
