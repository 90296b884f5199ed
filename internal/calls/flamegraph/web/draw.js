// Drawing: the rows that are in sight, on a canvas that stays where it is while
// the room behind it scrolls.

const ROW = 20, PAD = 5, FONT = '12px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif';
const byId = function (id) { return document.getElementById(id); };
const canvas = byId("canvas"), scroll = byId("scroll"), room = byId("room");
const ctx = canvas.getContext("2d");

// state is all that the user chose.
const state = {
  view: "down", by: isDiff && data.by === "self" ? "total" : data.by, side: "both", change: "self", query: "", theme: "",
  hit: null,     // what the query finds, by name
  pick: -1,      // the function that was chosen in the table
  from: 0, to: 1, // what of the whole is in sight
  zoomed: 0,     // the bar that was zoomed to
  selected: -1, hover: -1,
};
let place = null; // the present layout
let colours = {}, ratio = 1, wide = 0, high = 0;

// readColours takes the theme's colours from the style.
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const get = function (name) { return style.getPropertyValue("--" + name).trim(); };
  colours = { bars: [], changes: [], kinds: [] };
  for (const name of ["ink", "paper", "empty", "soft", "mark", "mark-ink", "bar-ink", "bar-soft", "dash"]) colours[name] = get(name);
  for (let i = 0; i < 24; i++) colours.bars.push(get("c" + i));
  for (let k = 0; k < (data.kindNames || []).length; k++) colours.kinds.push(get("k" + k));
  for (let i = 0; i <= 16; i++) colours.changes.push(get("d" + i));
}

// placeBars computes the layout for the present choices.
function placeBars() {
  const t = state.view === "up" ? upward() : downward;
  place = layout(t, state.by, state.side);
  place.largest = largestChange(t);
}

// changeOf is by how much a bar changed, in what its colour stands for.
function changeOf(t, i) {
  const key = state.by === "calls" ? "calls" : state.change;
  return t.sides[1][key][i] - t.sides[0][key][i];
}

function largestChange(t) {
  let most = 0;
  if (isDiff) for (let i = 0; i < t.n; i++) if (isFunction(t, i)) most = Math.max(most, Math.abs(changeOf(t, i)));
  return most;
}

// changeShade is the number of a change's colour, on a scale of square roots.
function changeShade(d) {
  if (!d || !place.largest) return 8;
  return 8 + Math.sign(d) * Math.ceil(Math.sqrt(Math.abs(d) / place.largest) * 8);
}

const narrow = window.matchMedia("(max-width: 860px)");
let printing = false;
// fit makes the canvas as large as what it is in, in the pixels of the screen.
function fit() {
  ratio = window.devicePixelRatio || 1;
  // Where the page is one column, the drawing is as high as it has to be.
  const rows = place.rows.length * ROW;
  scroll.style.height = narrow.matches ? Math.min(rows, Math.round(innerHeight * 0.6)) + "px" : "";
  wide = scroll.clientWidth;
  high = printing ? Math.min(rowsInSight() * ROW, 4000) : scroll.clientHeight;
  canvas.width = Math.max(1, Math.round(wide * ratio));
  canvas.height = Math.max(1, Math.round(high * ratio));
  canvas.style.height = high + "px";
  room.style.height = rows + "px";
  draw(); // at once: a canvas that changed its size is empty
}

let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(function () {
    pending = false;
    draw();
  });
}

// scaleX returns where on the canvas a place of the layout is.
function scaleX(v) { return (v / place.whole - state.from) / (state.to - state.from) * wide; }

// firstIn returns the first bar of a row that ends behind v.
function firstIn(row, v) {
  let lo = 0, hi = row.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (place.x[row[mid]] + place.w[row[mid]] > v) hi = mid;
    else lo = mid + 1;
  }
  return lo;
}

// rowsInSight is how many rows have a bar in the part that is in sight.
function rowsInSight() {
  let n = place.rows.length;
  while (n > 1) {
    const row = place.rows[n - 1], i = row[firstIn(row, state.from * place.whole)];
    if (i !== undefined && place.x[i] < state.to * place.whole) break;
    n--;
  }
  return n;
}

// barAt returns the bar at a point of the canvas, or -1.
function barAt(px, py) {
  const row = place.rows[Math.floor((py + scroll.scrollTop) / ROW)];
  if (!row || !place.whole) return -1;
  const v = (state.from + px / wide * (state.to - state.from)) * place.whole;
  const i = row[firstIn(row, v)];
  return i !== undefined && place.x[i] <= v ? i : -1;
}

function draw() {
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, wide, high);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  if (!place.whole) {
    ctx.fillStyle = colours.soft;
    ctx.fillText("There is nothing to show.", PAD, ROW);
    return;
  }
  const top = scroll.scrollTop, first = Math.floor(top / ROW);
  const last = Math.min(place.rows.length - 1, Math.floor((top + high) / ROW));
  const end = state.to * place.whole;
  for (let r = first; r <= last; r++) {
    const row = place.rows[r], y = r * ROW - top;
    let drawn = -1; // the last pixel that has something
    for (let k = firstIn(row, state.from * place.whole); k < row.length; k++) {
      const i = row[k];
      if (place.x[i] >= end) break;
      const x0 = scaleX(place.x[i]), x1 = scaleX(place.x[i] + place.w[i]);
      if (x1 - x0 < 1) {
        // Many bars on one pixel are drawn once.
        const at = Math.floor(x0);
        if (at === drawn) continue;
        drawn = at;
        fillBar(i, at, y, 1);
        continue;
      }
      drawn = Math.floor(x1 - 0.01);
      drawBar(i, Math.max(x0, 0), Math.min(x1, wide), y);
    }
  }
  outline(state.hover, 1.5, top);
  outline(state.selected, 2, top);
}

// isMarked says whether a bar was searched for, or chosen in the table.
function isMarked(i) {
  const name = place.tree.name[i];
  return name >= 0 && (state.pick >= 0 ? name === state.pick : !!state.hit && state.hit[name] === 1);
}

function fillBar(i, x, y, w) {
  const t = place.tree;
  ctx.globalAlpha = 1;
  ctx.fillStyle = colours.empty;
  if (isMarked(i)) {
    ctx.fillStyle = colours.mark;
  } else if (isFunction(t, i)) {
    if (isDiff) {
      ctx.fillStyle = colours.changes[changeShade(changeOf(t, i))];
    } else {
      if (state.by === "self" && t.view === "down") {
        ctx.fillRect(x, y, w, ROW - 1);
        ctx.globalAlpha = Math.sqrt(t.sides[0].self[i] / place.w[i]);
      }
      const kind = kindOf(t.name[i]);
      ctx.fillStyle = kind ? colours.kinds[kind] : colours.bars[data.shades[t.name[i]]];
    }
  }
  ctx.fillRect(x, y, w, ROW - 1);
  ctx.globalAlpha = 1;
}

// uncertain is how many calls of a bar have no exit in the log.
function uncertain(t, i) {
  let n = 0;
  for (const s of t.sides) n += (s.deduced.get(i) || 0) + (s.open.get(i) || 0);
  return n;
}

function drawBar(i, x0, x1, y) {
  const t = place.tree, w = x1 - x0, gap = w > 3 ? 1 : w > 1.5 ? 0.5 : 0;
  fillBar(i, x0, y, w - gap);
  if (w > 6 && uncertain(t, i)) dashed([[x0 + 1, y + ROW - 2.5], [x1 - gap - 1, y + ROW - 2.5]], colours.dash, 1.5);
  if (w > 6 && (isNew(t, i) || isGone(t, i))) frame(x0 + 0.75, y + 0.75, w - gap - 1.5, ROW - 2.5, isGone(t, i));
  if (w < 26) return;
  const marked = isMarked(i), room = w - gap - 2 * PAD;
  ctx.fillStyle = marked ? colours["mark-ink"] : isMerged(t, i) ? colours.soft : isLabel(t, i) ? colours.ink : colours["bar-ink"];
  const used = label(prefix(t, i) + nameOf(t, i), x0 + PAD, y + ROW / 2, room);
  if (room - used > 70 && !isMerged(t, i)) {
    ctx.textAlign = "right";
    // What changed most is too dark, or too bright, for soft letters.
    if (!marked && !isLabel(t, i) && !isDiff) ctx.fillStyle = colours["bar-soft"];
    ctx.fillText(percent(place.w[i], place.whole), x1 - gap - PAD, y + ROW / 2);
    ctx.textAlign = "left";
  }
}

function prefix(t, i) { return isNew(t, i) ? "new: " : isGone(t, i) ? "gone: " : ""; }

// label writes as much of a text as there is room for, and returns how much it took.
const lengths = new Map();
function lengthOf(text) {
  let n = lengths.get(text);
  if (n === undefined) {
    if (lengths.size > 20000) lengths.clear();
    lengths.set(text, n = ctx.measureText(text).width);
  }
  return n;
}
function label(text, x, y, room) {
  let length = lengthOf(text);
  if (length > room) {
    let n = Math.floor(text.length * room / length);
    do {
      // A letter beyond the first 65,536 is two units long.
      const code = text.charCodeAt(n - 1);
      if (code >= 0xd800 && code < 0xdc00) n--;
      length = ctx.measureText(text.slice(0, n) + "…").width;
    } while (length > room && --n > 0);
    if (n < 2) return room;
    text = text.slice(0, n) + "…";
  }
  ctx.fillText(text, x, y);
  return length;
}

function dashed(points, colour, width) {
  ctx.setLineDash([3, 3]);
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  points.forEach(function (p, k) { ctx[k ? "lineTo" : "moveTo"](p[0], p[1]); });
  ctx.stroke();
  ctx.setLineDash([]);
}

// frame draws what is new with a line around it, and what is gone with a broken one.
function frame(x, y, w, h, broken) {
  if (broken) ctx.setLineDash([4, 3]);
  ctx.strokeStyle = colours.ink;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(x, y, w, h);
  ctx.setLineDash([]);
}

function outline(i, width, top) {
  if (i < 0) return;
  const x0 = Math.max(scaleX(place.x[i]), -4), x1 = Math.min(scaleX(place.x[i] + place.w[i]), wide + 4);
  if (x1 < 0 || x0 > wide) return;
  ctx.strokeStyle = colours.ink;
  ctx.lineWidth = width;
  ctx.strokeRect(x0 + width / 2, place.tree.depth[i] * ROW - top + width / 2, Math.max(x1 - x0 - 1 - width, 0.5), ROW - 1 - width);
}

// show moves to a part of the whole, step by step if the user does not mind.
let motion = 0;
const still = window.matchMedia("(prefers-reduced-motion: reduce)");
function show(from, to, jump) {
  const least = 1e-9;
  if (to - from < least) to = from + least;
  from = Math.max(0, Math.min(from, 1 - least));
  to = Math.min(1, to);
  cancelAnimationFrame(motion);
  if (jump || still.matches || document.hidden) {
    state.from = from;
    state.to = to;
    redraw();
    return;
  }
  const f0 = state.from, t0 = state.to, begin = performance.now(), time = 180;
  const step = function (now) {
    const p = Math.max(0, Math.min(1, (now - begin) / time)), e = 1 - Math.pow(1 - p, 3);
    state.from = f0 + (from - f0) * e;
    state.to = t0 + (to - t0) * e;
    draw();
    if (p < 1) motion = requestAnimationFrame(step);
  };
  motion = requestAnimationFrame(step);
}
