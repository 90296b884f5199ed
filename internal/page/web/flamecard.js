/* flamecard.js says what is known of a bar of a flame graph: its numbers, what is to be said of them, its stack. */
cairn.flamecard = (function () {
  const el = cairn.el;

  /** text writes a cost of a tree, with its unit. */
  function text(t, key, v) { return cairn.costs.text(t, key, v) + (key !== "calls" && t.unit !== "ns" ? " " + t.unit : ""); }

  function signed(t, key, v) { return (v > 0 ? "+" : v < 0 ? "−" : "±") + text(t, key, Math.abs(v)); }

  /** row is the name of a cost and its value, or both values and the change. */
  function row(t, name, key, values) {
    if (t.sides.length === 1) return values[0] === undefined ? null : [name, text(t, key, values[0])];
    const known = values[0] !== undefined && values[1] !== undefined;
    const write = function (v) { return v === undefined ? "–" : text(t, key, v); };
    return [name, write(values[0]) + " → " + write(values[1]) + (known ? " (" + signed(t, key, values[1] - values[0]) + ")" : ""), known ? Math.sign(values[1] - values[0]) : 0];
  }

  const spreads = ["Shortest", "Median", "90 %", "99 %", "Longest"];

  function rows(t, n) {
    const list = [], whole = t.root.total, root = !n.parent && n.name < 0, each = function (f) { return t.sides.map(function (_, k) { return f(k); }); };
    const part = function (r, v) {
      if (r && t.sides.length === 1 && whole[0]) r[1] += ", " + cairn.format.percent(v, whole[0]);
      list.push(r);
    };
    if (!t.turned) part(row(t, "Total", "total", n.total), n.total[0]);
    if (!root && !n.label) part(row(t, "Self", "total", n.self), n.self[0]);
    if (!t.sampled && !n.label && !(t.approximate && !n.calls[0])) list.push(row(t, "Calls", "calls", n.calls));
    if (t.sampled || t.turned || root || n.label || n.merged) return list.filter(Boolean);
    if (!t.approximate) list.push(row(t, "Mean", "total", each(function (k) { return n.calls[k] ? n.total[k] / n.calls[k] : undefined; })));
    if (n.spread) for (const [i, name] of spreads.entries()) list.push(row(t, name, "max", each(function (k) { return n.spread[k] ? n.spread[k][i] : n.calls[k] === 1 ? n.total[k] : undefined; })));
    else if (n.max.some(Boolean)) list.push(row(t, "Longest", "max", n.max.map(function (v) { return v || undefined; })));
    return list.filter(Boolean);
  }

  /** remarks are sentences about the numbers of a bar. */
  function remarks(t, n) {
    const list = [], calls = n.calls.reduce(function (a, b) { return a + b; }, 0), { count, plural } = cairn.format;
    if (n.merged) list.push("Stacks that are too small to draw. The sums have them.");
    if (t.sides.length === 2 && n.name >= 0 && !n.label) {
      if (!n.calls[0]) list.push("New: not called before.");
      if (!n.calls[1]) list.push("Gone: no longer called.");
    }
    const of = function (v) { return count(v) + " of " + plural(calls, "call"); };
    if (n.deduced) list.push(of(n.deduced) + (n.deduced === 1 ? " has" : " have") + " no exit in the log: the time is a lower bound.");
    if (n.open) list.push(of(n.open) + (n.open === 1 ? " was" : " were") + " still running when the log ended.");
    if (t.kinds && t.kinds[n.name] === "restored") list.push("The frame was restored: a tail call had removed it.");
    return list;
  }

  /** copy puts text on the clipboard; a page from a file may not have the new way. */
  function copy(text, button) {
    const said = button.textContent;
    const done = function (ok) {
      button.textContent = ok ? "Copied" : "Not allowed";
      setTimeout(function () { button.textContent = said; }, 1500);
    };
    const old = function () {
      const area = el("textarea", { class: "unseen" });
      area.value = text;
      document.body.append(area);
      area.select();
      let ok = false;
      try {
        ok = document.execCommand("copy");
      } catch (e) { /* the button says so */ }
      area.remove();
      button.focus();
      done(ok);
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(function () { done(true); }, old);
    else old();
  }

  /** show fills a card; acts are buttons and links below the numbers. */
  function show(card, state, n, acts) {
    const t = state.tree, names = cairn.flamebars.above(n).slice(n.parent || n.name < 0 ? 1 : 0).map(function (x) { return cairn.flamebars.nameOf(state, x); });
    card.replaceChildren(el("h2", null, cairn.flamebars.nameOf(state, n)),
      el("dl", null, rows(t, n).map(function (r) { return [el("dt", null, r[0]), el("dd", { class: r[2] > 0 ? "worse" : r[2] < 0 ? "better" : null }, r[1])]; })),
      ...remarks(t, n).map(function (s) { return el("p", { class: "soft" }, s); }),
      names.length ? el("p", { class: "tl-bar" }, acts, el("span", { class: "group" }, el("button", { type: "button", onclick() { copy(names.join("\n"), this); } }, "Copy stack"))) : "",
      names.length > 1 ? el("details", { open: names.length < 40 }, el("summary", null, t.turned ? "Callers, innermost first" : "Stack, outermost first"), el("ol", { class: "flame-stack" }, names.map(function (s) { return el("li", null, s); }))) : "");
  }

  return { rows: rows, remarks: remarks, show: show };
})();
