/*
 * stacktree.js makes trees of stacks: of what Go computed, of the records of a time line, of
 * samples. A tree is {unit, sides, names, shades, kinds, root, functions, notes, approximate, sampled};
 * a node is {name, parent, children, calls, total, self, max, spread, deduced, open}, where name is an
 * index, -1 for what was merged (of so many stacks), and the costs have an element for each side.
 * inside are the self times and all the calls of a node and of what is below; label is true of a thread.
 */
cairn.trees = (function () {
  function node(name, parent, sides) {
    const zero = function () { return new Array(sides).fill(0); };
    return { name: name, parent: parent, children: [], calls: zero(), total: zero(), self: zero(), max: zero() };
  }

  /** hash is package webpage's Shade: the same function has the same colour everywhere. */
  function shade(name) {
    let h = 2166136261;
    for (const b of new TextEncoder().encode(name)) h = Math.imul(h ^ b, 16777619) >>> 0;
    return ((h ^ (h >>> 16)) >>> 0) % 24;
  }

  /** finish gives the root the costs of what is below, and each node what is in it. */
  function finish(t) {
    for (let k = 0; k < t.sides.length; k++) t.root.total[k] = t.root.children.reduce(function (sum, c) { return sum + c.total[k]; }, 0);
    sum(t.root);
    t.root.calls = t.root.all;
    return t;
  }

  /** sum sets all and inside: the calls and the self times of a node and of what is below. */
  function sum(n) {
    n.all = n.calls.slice();
    n.inside = n.self.slice();
    for (const c of n.children) {
      sum(c);
      for (let k = 0; k < n.all.length; k++) {
        n.all[k] += c.all[k];
        n.inside[k] += c.inside[k];
      }
    }
  }

  /** fromData makes a tree of what Go computed: package flamegraph documents the columns. */
  function fromData(d) {
    const sides = d.labels.length, root = node(-1, null, sides), above = [], nodes = [];
    for (let i = 0; i < d.depth.length; i++) {
      const depth = d.depth[i], name = d.name[i];
      const n = depth ? node(name < 0 ? -1 : name, above[depth - 1], sides) : root;
      if (depth) n.parent.children.push(n);
      if (name < 0) n.merged = -name;
      if (name >= d.functions) n.label = true;
      above[depth] = n;
      nodes.push(n);
    }
    const single = d.sides.map(function (s, k) { return costs(s, k, nodes); });
    const functions = [];
    for (let f = 0; f < d.functions; f++) {
      const row = node(f, null, sides);
      for (let k = 0; k < sides; k++) {
        const s = d.sides[k];
        for (const [i, key] of ["self", "total", "calls"].entries()) row[key][k] = s.functions[3 * f + i];
        row.max[k] = s.longest[f];
      }
      functions.push(row);
    }
    return finish({ unit: d.unit, sides: d.labels, names: d.names, shades: d.shades, root: root, functions: functions, notes: d.notes, unlisted: d.unlisted, by: d.by,
      kinds: d.kinds && d.kinds.map(function (k) { return d.kindNames[k]; }), merged: d.merged, stacks: d.stacks, step: d.step, single: single.some(Boolean), sampled: d.calls === false });
  }

  /** costs gives nodes the columns of a side; it reports whether times of single calls are known. */
  function costs(s, k, nodes) {
    let at = 0, single = false;
    nodes.forEach(function (n, i) {
      for (const key of ["calls", "total", "self"]) n[key][k] = s[key][i];
      if (n.merged || s.calls[i] < 1) return;
      if (s.calls[i] < 2) {
        n.max[k] = s.total[i];
        return;
      }
      const v = s.spread.slice(at, at += 5), known = v[0] <= v[1];
      n.max[k] = v[4];
      single = single || v[4] > 0;
      if (known) (n.spread = n.spread || [])[k] = v;
    });
    for (const key of ["deduced", "open"]) for (let i = 0; i < s[key].length; i += 2) nodes[s[key][i]][key] = (nodes[s[key][i]][key] || 0) + s[key][i + 1];
    return single || nodes.every(function (n, i) { return n.merged || s.calls[i] < 2; });
  }

  /** functionsOf sums the nodes of each function; calls within calls of it count once in totals. */
  function functionsOf(t) {
    const sides = t.sides.length;
    const by = new Map();
    const active = new Map();
    (function walk(n) {
      if (n.name >= 0) {
        let f = by.get(n.name);
        if (!f) by.set(n.name, f = node(n.name, null, sides));
        const outer = !active.get(n.name);
        for (let k = 0; k < sides; k++) {
          f.calls[k] += n.calls[k];
          f.self[k] += n.self[k];
          f.max[k] = Math.max(f.max[k], n.max[k]);
          if (outer) f.total[k] += n.total[k];
        }
        active.set(n.name, (active.get(n.name) || 0) + 1);
      }
      for (const c of n.children) walk(c);
      if (n.name >= 0) active.set(n.name, active.get(n.name) - 1);
    })(t.root);
    return [...by.values()];
  }

  function child(parent, name, index) {
    let c = index.get(parent);
    if (!c) index.set(parent, c = new Map());
    let n = c.get(name);
    if (!n) {
      n = node(name, parent, parent.calls.length);
      c.set(name, n);
      parent.children.push(n);
    }
    return n;
  }

  /**
   * fromRecords makes a tree of the records in parts, of which the first of each lane begins at
   * from. Where calls are merged into blocks it is approximate: the time of a block is that of the
   * function that took most of it. Whose calls are in a block is not known: all numbers of calls
   * and all maxima are lower bounds then. What is in blocks, and what is left out since its caller
   * is in one, is counted.
   */
  function fromRecords(model, parts, from) {
    const t = { unit: model.unit, sides: [""], names: model.names, shades: model.shades, root: node(-1, null, 1), notes: [], approximate: false, single: true,
      blocks: { calls: 0, time: 0 }, lost: { calls: 0, time: 0 },
      step: model.lanes.reduce(function (most, l) { return Math.max(most, l.step || 0); }, 0) };
    const index = new Map();
    for (const part of parts) {
      let above = null; // nodes of the depth before, by record
      const tile = part.rows.tile;
      for (let depth = 1; depth <= part.rows.depth; depth++) {
        const here = new Map();
        let at = 0;
        const outer = above ? [...above.keys()] : [];
        cairn.tiles.each(part.rows, depth, part.from, part.to, function (i) {
          let parent = t.root;
          const took = Math.min(tile.to[i], part.to) - Math.max(tile.from[i], part.from);
          const first = tile.from[i] >= part.from || part.from <= from; // calls are counted once, in the first part
          const count = function (sum) { sum.calls += first ? tile.calls[i] : 0; sum.time += took; };
          if (above) {
            while (at < outer.length && tile.to[outer[at]] <= tile.from[i] && !(tile.to[outer[at]] === tile.to[i])) at++;
            if (at >= outer.length || tile.from[outer[at]] > tile.from[i]) return count(t.lost); // its caller is merged into another
            parent = above.get(outer[at]);
          }
          const n = child(parent, tile.fn[i], index);
          const idle = tile.idle[i] * took / Math.max(1, tile.to[i] - tile.from[i]);
          const block = tile.kind[i] === cairn.tiles.BLOCK;
          if (block) count(t.blocks);
          else if (first) n.calls[0] += tile.calls[i];
          n.total[0] += took - idle;
          n.self[0] += took - idle;
          if (parent !== t.root) parent.self[0] = Math.max(0, parent.self[0] - (took - idle));
          if (block) t.approximate = true;
          else n.max[0] = Math.max(n.max[0], part.from <= from ? took : tile.to[i] - Math.max(from, tile.from[i]));
          here.set(i, n);
        });
        above = here;
      }
    }
    t.functions = functionsOf(t);
    return finish(t);
  }

  /** fromSamples makes a tree of the sampled stacks of the model. */
  function fromSamples(model) {
    const names = [], shades = [], kinds = [], numbers = new Map();
    const number = function (frame) {
      const key = frame.function + (frame.restored ? "r" : "") + (frame.inlined ? "i" : "");
      if (!numbers.has(key)) {
        const f = model.functions[frame.function];
        const name = f ? f.name || f.symbol : "?";
        numbers.set(key, names.length);
        names.push(name + (frame.restored ? " (restored)" : frame.inlined ? " (inlined)" : ""));
        shades.push(shade(name));
        kinds.push(frame.restored ? "restored" : frame.inlined ? "inlined" : "");
      }
      return numbers.get(key);
    };
    const t = { unit: "samples", sampled: true, sides: [""], names: names, shades: shades, kinds: kinds, root: node(-1, null, 1), notes: [] };
    const index = new Map();
    for (const s of model.samples.stacks) {
      let n = t.root;
      for (const frame of s.frames) {
        n = child(n, number(frame), index);
        n.total[0] += s.count;
        n.calls[0] += s.count;
      }
      n.self[0] += s.count;
    }
    if (model.samples.left) t.notes.push(cairn.format.plural(model.samples.left, "rarer stack") + " are not in this report.");
    t.functions = functionsOf(t);
    return finish(t);
  }

  function add(into, n, sides) {
    for (let k = 0; k < sides; k++) {
      into.calls[k] += n.calls[k];
      into.total[k] += n.total[k];
      into.self[k] += n.self[k];
      into.max[k] = Math.max(into.max[k], n.max[k]);
    }
  }

  /**
   * sandwich returns two roots for a function: what it called, and, turned round, who called it.
   * A call within another call of the function is part of that one.
   */
  function sandwich(t, name) {
    const sides = t.sides.length;
    const callees = node(name, null, sides), callers = node(name, null, sides);
    const index = new Map();
    function below(into, n) {
      for (const c of n.children) {
        const m = child(into, c.name, index);
        add(m, c, sides);
        below(m, c);
      }
    }
    (function walk(n, inside) {
      if (n.name === name && !inside) {
        add(callees, n, sides);
        add(callers, n, sides);
        below(callees, n);
        let into = callers;
        for (let up = n.parent; up && up.parent && !up.label; up = up.parent) {
          into = child(into, up.name, index);
          add(into, n, sides);
        }
      }
      for (const c of n.children) walk(c, inside || n.name === name);
    })(t.root, false);
    sum(callers);
    sum(callees);
    return { callers: callers, callees: callees };
  }

  /**
   * turn returns the tree turned round: at the top the functions whose own time it is, below them who called them.
   * Only own time and own calls can be turned round. Stacks that are too narrow to see are merged, as in the data.
   */
  function turn(t) {
    const grain = 1 / 4000, most = 60000, sides = t.sides.length, root = node(-1, null, sides);
    let count = 0;
    const leaves = [];
    const take = function (into, leaf) {
      for (let k = 0; k < sides; k++) {
        into.self[k] += leaf.self[k];
        into.calls[k] += leaf === t.root ? 0 : leaf.calls[k];
      }
    };
    (function walk(n) {
      if (n !== t.root && !n.label && (n.self.some(Boolean) || n.calls.some(Boolean))) {
        leaves.push([n, n]);
        take(root, n);
      }
      n.children.forEach(walk);
    })(t.root);
    const share = function (n) {
      return Math.max(...["self", "calls"].flatMap(function (key) { return n[key].map(function (v, k) { return root[key][k] ? v / root[key][k] : 0; }); }));
    };
    const todo = [[root, leaves]];
    while (todo.length) {
      const [into, list] = todo.pop(), groups = new Map(), rest = node(-1, into, sides);
      rest.merged = 0;
      for (const [leaf, at] of list) {
        if (!at.parent || at.label) continue; // the outermost: nobody called it
        let g = groups.get(at.name);
        if (!g) groups.set(at.name, g = { node: node(at.name, into, sides), list: [] });
        take(g.node, leaf);
        g.node.merged = at.merged;
        g.list.push([leaf, at.parent]);
      }
      for (const [name, g] of groups) {
        if (name >= 0 && count < most && share(g.node) >= grain) {
          count++;
          into.children.push(g.node);
          todo.push([g.node, g.list]);
          continue;
        }
        rest.merged += g.node.merged || 1;
        take(rest, g.node);
      }
      if (rest.merged) into.children.push(rest);
    }
    (function own(n) { // a bar has all that is below it in its own numbers already
      n.total = n.inside = n.self;
      n.all = n.calls;
      n.children.forEach(own);
    })(root);
    return Object.assign({}, t, { root: root, turned: true });
  }

  return { fromData: fromData, fromRecords: fromRecords, fromSamples: fromSamples, sandwich: sandwich, turn: turn, functionsOf: functionsOf, shade: shade };
})();
