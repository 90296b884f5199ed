// The tree: bars in the order of drawing, each before those below it. Places are
// computed once for each view and measure; zooming only looks at them.

const data = JSON.parse(document.getElementById("data").textContent);
const sides = data.sides.length;
const isDiff = sides > 1;
const isSampled = data.calls === false; // times are sums of samples, and there are no calls
const functions = data.functions;

// What the sides are called, without their directories unless that is the difference.
const sideNames = (function () {
  const last = data.labels.map(function (s) { return s.slice(s.lastIndexOf("/") + 1); });
  const names = last[0] === last[1] ? data.labels : last;
  return [names[0] || "before", names[1] || "after"];
})();

// parents returns the bar that each bar is below.
function parents(depth) {
  const parent = new Int32Array(depth.length), last = [];
  for (let i = 0; i < depth.length; i++) {
    parent[i] = depth[i] ? last[depth[i] - 1] : -1;
    last[depth[i]] = i;
  }
  return parent;
}

// sparse turns pairs of index and value into a map.
function sparse(pairs) {
  const map = new Map();
  for (let i = 0; i < pairs.length; i += 2) map.set(pairs[i], pairs[i + 1]);
  return map;
}

// downward is the tree as the data have it: callees below their callers.
const downward = (function () {
  const n = data.depth.length;
  const t = {
    view: "down", n: n, depth: Int32Array.from(data.depth), name: Int32Array.from(data.name), sides: [],
  };
  t.parent = parents(t.depth);
  for (const s of data.sides) {
    const side = {
      total: Float64Array.from(s.total), self: Float64Array.from(s.self), calls: Float64Array.from(s.calls),
      deduced: sparse(s.deduced), open: sparse(s.open), spread: s.spread, at: new Int32Array(n).fill(-1),
    };
    let at = 0;
    for (let i = 0; i < n; i++) {
      if (side.calls[i] > 1 && t.name[i] >= 0) {
        side.at[i] = at;
        at += 5;
      }
    }
    t.sides.push(side);
  }
  return t;
})();

function isLabel(t, i) { return t.name[i] >= functions; }
function isMerged(t, i) { return t.name[i] < 0; }
function isFunction(t, i) { return t.name[i] >= 0 && t.name[i] < functions; }
function isNew(t, i) { return isDiff && isFunction(t, i) && t.sides[0].calls[i] === 0; }
function isGone(t, i) { return isDiff && isFunction(t, i) && t.sides[1].calls[i] === 0; }

// kindOf is the kind of a function that has a colour of its own, 0 of others.
function kindOf(name) { return data.kinds ? data.kinds[name] : 0; }

// nameOf is what a bar says.
function nameOf(t, i) {
  const name = t.name[i];
  if (name < 0) return count(-name) + " more";
  return data.names[name];
}

// upward is the tree turned round: at the top the functions whose own time it is,
// below them who called them. Only own time and own calls can be turned round.
// Stacks that are too narrow to see are merged, as they are in the data.
let turned = null;
function upward() {
  if (!turned) turned = turn(downward);
  return turned;
}

function turn(t) {
  const grain = 1 / 4000, most = 60000;
  const out = { view: "up", depth: [], name: [], sums: [] };
  for (let k = 0; k < sides; k++) out.sums.push({ self: [], calls: [] });
  const whole = new Float64Array(2 * sides);
  const leaves = [];
  for (let i = 0; i < t.n; i++) {
    let any = false;
    for (let k = 0; k < sides; k++) {
      const s = t.sides[k];
      any = any || s.self[i] > 0 || s.calls[i] > 0;
      whole[2 * k] += s.self[i];
      whole[2 * k + 1] += s.calls[i];
    }
    if (any) leaves.push(i);
  }
  const share = function (sum) {
    let s = 0;
    for (let k = 0; k < whole.length; k++) if (whole[k] > 0) s = Math.max(s, sum[k] / whole[k]);
    return s;
  };
  const emit = function (depth, name, sum) {
    out.depth.push(depth);
    out.name.push(name);
    for (let k = 0; k < sides; k++) {
      out.sums[k].self.push(sum[2 * k]);
      out.sums[k].calls.push(sum[2 * k + 1]);
    }
  };
  // split groups stacks by the function at their present place.
  const split = function (leaf, at) {
    const groups = new Map();
    for (let j = 0; j < leaf.length; j++) {
      if (at[j] <= 0) continue; // the outermost: nobody called it
      const name = t.name[at[j]];
      let g = groups.get(name);
      if (!g) groups.set(name, g = { name: name, leaf: [], at: [], sum: new Float64Array(2 * sides) });
      g.leaf.push(leaf[j]);
      g.at.push(t.parent[at[j]]);
      for (let k = 0; k < sides; k++) {
        g.sum[2 * k] += t.sides[k].self[leaf[j]];
        g.sum[2 * k + 1] += t.sides[k].calls[leaf[j]];
      }
    }
    const size = function (g) {
      let v = 0;
      for (let k = 0; k < sides; k++) v += g.sum[2 * k];
      return v;
    };
    return [...groups.values()].sort(function (a, b) {
      return (a.name < 0) - (b.name < 0) || size(b) - size(a) || b.sum[1] - a.sum[1] || a.name - b.name;
    });
  };
  emit(0, functions, whole);
  const stack = [{ depth: 0, leaf: leaves, at: leaves }];
  while (stack.length) {
    const top = stack.pop();
    if (top.sum) emit(top.depth, top.name, top.sum);
    if (!top.leaf) continue;
    const rest = { depth: top.depth + 1, name: 0, sum: new Float64Array(2 * sides), leaf: null };
    const kept = [];
    for (const g of split(top.leaf, top.at)) {
      if (g.name >= 0 && out.depth.length + stack.length < most && share(g.sum) >= grain) {
        g.depth = top.depth + 1;
        kept.push(g);
        continue;
      }
      rest.name += g.name < 0 ? g.name : -1;
      for (let k = 0; k < rest.sum.length; k++) rest.sum[k] += g.sum[k];
    }
    if (rest.name < 0) kept.push(rest);
    for (let j = kept.length - 1; j >= 0; j--) stack.push(kept[j]);
  }
  const n = out.depth.length;
  const result = { view: "up", n: n, depth: Int32Array.from(out.depth), name: Int32Array.from(out.name), sides: [] };
  result.parent = parents(result.depth);
  for (const s of out.sums) {
    const self = Float64Array.from(s.self);
    result.sides.push({ total: self, self: self, calls: Float64Array.from(s.calls), deduced: new Map(), open: new Map() });
  }
  return result;
}

// widths returns how wide the bars of a tree are on one side. In the upward tree
// a bar has all that is below it in its own numbers already.
function widths(t, k, by) {
  const s = t.sides[k];
  if (t.view === "up") return by === "calls" ? s.calls : s.self;
  const w = new Float64Array(t.n), below = new Float64Array(t.n);
  for (let i = t.n - 1; i >= 0; i--) {
    w[i] = by === "total" ? Math.max(s.total[i], below[i]) : below[i] + s[by][i];
    if (i) below[t.parent[i]] += w[i];
  }
  return w;
}

// layout places the bars: x and w of each in the unit of the measure, and the
// bars of each row from left to right.
function layout(t, by, side) {
  let w;
  if (!isDiff || side !== "both") {
    w = widths(t, isDiff ? +side : 0, by);
  } else {
    const a = widths(t, 0, by), b = widths(t, 1, by);
    w = a.map(function (v, i) { return v + b[i]; });
  }
  const x = new Float64Array(t.n), next = new Float64Array(t.n), rows = [];
  for (let i = 0; i < t.n; i++) {
    const p = t.parent[i];
    if (p >= 0) {
      x[i] = next[p];
      next[p] += w[i];
    }
    next[i] = x[i];
    if (w[i] > 0 || i === 0) (rows[t.depth[i]] = rows[t.depth[i]] || []).push(i);
  }
  return { tree: t, by: by, side: side, x: x, w: w, rows: rows, whole: w[0] };
}

// matcher returns which names a query finds, by index: text in any case, or a
// regular expression between slashes. It is null for none, and an error's text
// for an expression that is wrong.
function matcher(query) {
  if (!query) return null;
  let test;
  const re = /^\/(.+)\/([a-z]*)$/.exec(query);
  if (re) {
    try {
      const r = new RegExp(re[1], re[2].replace(/[gy]/g, "") || "i");
      test = function (s) { return r.test(s); };
    } catch (e) {
      return String(e.message);
    }
  } else {
    const q = query.toLowerCase();
    test = function (s) { return s.toLowerCase().includes(q); };
  }
  const hit = new Uint8Array(data.names.length);
  for (let i = 0; i < hit.length; i++) hit[i] = i !== functions && test(data.names[i]) ? 1 : 0;
  return hit;
}

// covered returns how much of a layout has a bar that matches, or is below one: a
// stack with several of them counts once.
function covered(l, hit) {
  const t = l.tree, inside = new Uint8Array(t.n);
  let sum = 0, bars = 0;
  for (let i = 0; i < t.n; i++) {
    const name = t.name[i], above = i ? inside[t.parent[i]] : 0;
    const found = name >= 0 && hit[name];
    if (found && l.w[i] > 0) bars++;
    if (found && !above) sum += l.w[i];
    inside[i] = above || found ? 1 : 0;
  }
  return { share: l.whole ? sum / l.whole : 0, bars: bars };
}

// stackOf returns the bars from the outermost function to bar i.
function stackOf(t, i) {
  const list = [];
  for (; i >= 0; i = t.parent[i]) if (i) list.push(i);
  return t.view === "up" ? list : list.reverse();
}

// count writes a number with commas.
function count(v) { return Math.round(v).toLocaleString("en-US"); }

// duration writes a time with four digits: 832 ns, 1.234 ms, 12.35 s.
function duration(v) {
  if (data.unit !== "ns") return count(v) + " " + data.unit;
  if (v < 0) return "-" + duration(-v);
  if (v < 999.5) return Math.round(v) + " ns";
  for (const u of [["µs", 1e3], ["ms", 1e6], ["s", 1e9]]) {
    for (let decimals = 3; decimals >= 1; decimals--) {
      const digits = Math.round(v / u[1] * Math.pow(10, decimals));
      if (digits < 10000) return (digits / Math.pow(10, decimals)).toFixed(decimals) + " " + u[0];
    }
  }
  return count(v / 1e9) + " s";
}

function percent(part, whole) {
  if (!whole) return "-";
  const p = 100 * part / whole;
  if (p >= 9.95) return p.toFixed(1) + " %";
  return p >= 0.01 || p === 0 ? p.toFixed(2) + " %" : "< 0.01 %";
}
