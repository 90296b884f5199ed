/*
 * flamebars.js places and draws the bars of a flame graph. A bar is {node, x, width (0 to 1 of the
 * whole), row, whole}; state is that of the view: tree (as it is drawn), by, side, change, zoom, part,
 * chosen, hit (what is searched for), fn.
 */
cairn.flamebars = (function () {
  const ROW = 19, THIN = 0.3; // pixels

  /** weight is how wide a node is; callees are never wider in all than their caller, even in a damaged log. */
  function weight(state, n) {
    const v = state.by === "calls" ? n.all : state.by === "self" ? n.inside : n.total;
    if (v.length === 1) return v[0];
    return state.side === "both" ? v[0] + v[1] : v[Number(state.side)];
  }

  function place(state, node, x, width, row, dir, boxes, least) {
    const children = node.children.map(function (c, i) { return [weight(state, c), c, i]; });
    children.sort(function (a, b) { return (a[1].merged > 0) - (b[1].merged > 0) || b[0] - a[0] || a[2] - b[2]; });
    const sum = Math.max(weight(state, node), children.reduce(function (s, c) { return s + c[0]; }, 0));
    let at = x;
    for (const [v, c] of children) {
      const w = sum ? width * v / sum : 0;
      if (w >= least) {
        boxes.push({ node: c, x: at, width: w, row: row + dir });
        place(state, c, at, w, row + dir, dir, boxes, least);
      }
      at += w;
    }
  }

  /** arrange places all bars that are wide enough to be seen on so many pixels. */
  function arrange(state, pixels) {
    const boxes = [], t = state.tree, least = THIN * (state.part[1] - state.part[0]) / Math.max(400, pixels);
    state.middle = null;
    if (state.fn >= 0) {
      const both = cairn.trees.sandwich(t, state.fn);
      place(state, both.callers, 0, 1, 0, -1, boxes, least);
      const top = boxes.reduce(function (least, b) { return Math.min(least, b.row); }, 0);
      boxes.push({ node: both.callees, x: 0, width: 1, row: 0, whole: true });
      place(state, both.callees, 0, 1, 0, 1, boxes, least);
      for (const b of boxes) b.row -= top;
      state.middle = -top;
      state.whole = both.callees;
    } else {
      const base = state.zoom || t.root, above = cairn.flamebars.above(base);
      for (const [i, n] of above.entries()) boxes.push({ node: n, x: 0, width: 1, row: i, whole: n !== base });
      place(state, base, 0, 1, above.length - 1, 1, boxes, least);
      state.whole = t.root;
    }
    state.boxes = boxes;
    state.rows = boxes.reduce(function (most, b) { return Math.max(most, b.row + 1); }, 1);
    state.most = t.sides.length === 2 ? boxes.reduce(function (most, b) { return b.node.parent && !b.node.label && !b.node.merged ? Math.max(most, Math.abs(changed(state, b.node))) : most; }, 0) : 0;
  }

  /** changed is what colours a bar of two sides. */
  function changed(state, n) {
    const v = n[state.by === "calls" ? "calls" : state.change];
    return v[1] - v[0];
  }

  function nameOf(state, n) {
    if (!n.parent && n.name < 0) return "all";
    return n.name < 0 ? n.merged ? cairn.format.count(n.merged) + " more" : "rarer stacks" : state.tree.names[n.name];
  }

  function fill(state, c, n) {
    const t = state.tree;
    if (n.name < 0 && !n.merged || n.label) return n.parent && !n.label ? c["bar-dim"] : c.panel;
    if (state.hit) return n.name >= 0 && state.hit(t.names[n.name]) ? c.mark : c["bar-dim"];
    if (t.sides.length === 2) { // a square root: a tenth of the largest change can still be seen
      const by = changed(state, n);
      return mix(c["bar-dim"], by > 0 ? c.worse : c.better, state.most && 0.7 * Math.sqrt(Math.min(1, Math.abs(by) / state.most)));
    }
    if (n.name < 0) return c["bar-dim"];
    const own = t.kinds && t.kinds[n.name] ? c["bar-" + t.kinds[n.name]] : c.shades[t.shades[n.name]];
    return state.by === "self" && !t.turned && n.inside[0] ? mix(c["bar-dim"], own, 0.15 + 0.85 * n.self[0] / n.inside[0]) : own;
  }

  function mix(a, b, share) {
    const part = function (s, i) { return parseInt(s.slice(1 + 2 * i, 3 + 2 * i), 16); };
    return "rgb(" + [0, 1, 2].map(function (i) { return Math.round(part(a, i) + (part(b, i) - part(a, i)) * share); }).join(" ") + ")";
  }

  /** paint draws the bars that are in sight; it returns how many. */
  function paint(state, canvas, width, height, top) {
    const c = cairn.bars.theme(), g = cairn.bars.fit(canvas, width, height), [from, to] = state.part, scale = width / (to - from);
    g.fillStyle = c.paper;
    g.fillRect(0, 0, width, height);
    const batch = cairn.bars.Batch(g), cut = [];
    for (const b of state.boxes) {
      const y = b.row * ROW - top + 1;
      if (y + ROW < 0 || y > height || b.x > to || b.x + b.width < from) continue;
      const x = Math.max(-2, (b.x - from) * scale), w = Math.max(0.5, Math.min(width + 2, (b.x + b.width - from) * scale) - x), n = b.node;
      const colour = fill(state, c, n);
      batch.bar(x, y, w, ROW - 1, colour, w >= 20 ? nameOf(state, n) : null, colour === c.mark ? c["mark-ink"] : state.hit && colour === c["bar-dim"] ? c.soft : c["bar-ink"], 0);
      if (n === state.chosen || b.whole && state.middle !== null) batch.frame(x, y, w, ROW - 1, n === state.chosen ? c.ink : c.accent);
      else if (state.tree.sides.length === 2 && n.name >= 0 && !n.label && (!n.calls[0] || !n.calls[1])) batch.frame(x, y, w, ROW - 1, n.calls[0] ? c.better : c.worse);
      if (n.deduced || n.open) cut.push([x, y + ROW - 2, w]);
    }
    const drawn = batch.draw();
    g.strokeStyle = c.ink;
    g.setLineDash([4, 3]);
    for (const [x, y, w] of cut) {
      g.beginPath();
      g.moveTo(x, y);
      g.lineTo(x + w, y);
      g.stroke();
    }
    g.setLineDash([]);
    return drawn;
  }

  return {
    ROW: ROW, arrange: arrange, paint: paint, nameOf: nameOf,
    /** pathOf is how a node is written in an address: its place among its siblings, and that of each of its callers. */
    pathOf: function (n) {
      const path = [];
      for (; n.parent; n = n.parent) path.unshift(n.parent.children.indexOf(n));
      return path.join(".");
    },
    /** above is a node below all that it is in. */
    above: function (n) {
      const list = [];
      for (; n; n = n.parent) list.unshift(n);
      return list;
    },
  };
})();
