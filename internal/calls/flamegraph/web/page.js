// What the user can do, and how the page begins.

// zoomTo shows a bar in full width, and what is above it.
function zoomTo(i, jump) {
  state.zoomed = i;
  const whole = place.whole || 1;
  show(place.x[i] / whole, i ? (place.x[i] + place.w[i]) / whole : 1, jump);
  showPath();
  remember();
}

function select(i) {
  state.selected = i;
  showDetails();
  redraw();
}

// pick marks all bars of one function, or none.
function pick(f) {
  state.pick = state.pick === f ? -1 : f;
  showTable();
  showStatus();
  redraw();
}

function search(query) {
  state.query = query;
  state.pick = -1;
  const m = matcher(query);
  state.wrong = typeof m === "string" ? m : null;
  state.hit = typeof m === "string" ? null : m;
  showTable();
  showStatus();
  remember();
  redraw();
}

function reset() {
  byId("query").value = "";
  state.selected = -1;
  search("");
  showDetails();
  scroll.scrollTop = 0;
  zoomTo(0);
}

// rearrange draws anew after another view or measure was chosen.
function rearrange() {
  const seen = state.zoomed, old = place && place.tree;
  placeBars();
  if (old !== place.tree) {
    state.zoomed = 0;
    state.selected = state.hover = -1;
    scroll.scrollTop = 0;
  }
  showTip(-1);
  for (const id of ["view", "by", "side", "change"]) {
    for (const b of byId(id).children) b.setAttribute("aria-pressed", String(b.dataset.value === state[id]));
  }
  zoomTo(old === place.tree && place.w[seen] > 0 ? seen : 0, true);
  fit();
  showDetails();
  showStatus();
}

// The choices are kept in the address, so that a link can have them.
function remember() {
  const parts = [];
  if (state.view !== "down") parts.push("view=" + state.view);
  if (state.by !== data.by) parts.push("by=" + state.by);
  if (state.side !== "both") parts.push("side=" + state.side);
  if (state.change !== "self") parts.push("change=" + state.change);
  if (state.query) parts.push("q=" + encodeURIComponent(state.query));
  if (state.zoomed) parts.push("at=" + state.zoomed);
  try {
    history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.pathname + location.search);
  } catch (e) { /* some browsers do not let files have it */ }
}

function recall() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const id of ["view", "by", "side", "change"]) {
    const v = wanted.get(id);
    if ([...byId(id).children].some(function (b) { return b.dataset.value === v && !b.hidden; }) && (isDiff || id === "view" || id === "by")) state[id] = v;
  }
  return { query: wanted.get("q") || "", at: parseInt(wanted.get("at"), 10) || 0 };
}

// The theme is that of the system until the user chooses another.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
function applyTheme(name) {
  const now = name || state.theme || (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = now;
  byId("theme").textContent = now === "dark" ? "Light" : "Dark";
  readColours();
  if (place) draw();
}

function onWheel(e) {
  const unit = e.deltaMode === 1 ? 16 : 1; // some browsers count lines
  if (e.ctrlKey || e.metaKey) {
    e.preventDefault();
    const factor = Math.exp(Math.max(-60, Math.min(60, e.deltaY * unit)) * 0.006);
    zoomAround(e.offsetX / wide, factor);
  } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) {
    e.preventDefault();
    move((e.deltaX || e.deltaY) * unit / wide);
  }
}

// zoomAround changes the scale and leaves the point at a part of the width still.
function zoomAround(at, factor) {
  const span = state.to - state.from, next = Math.min(1, Math.max(1e-9, span * factor));
  const from = Math.max(0, Math.min(1 - next, state.from + at * (span - next)));
  show(from, from + next, true);
  showTip(-1);
}

function move(by) {
  const span = state.to - state.from;
  const from = Math.max(0, Math.min(1 - span, state.from + by * span));
  show(from, from + span, true);
}

// The mouse: a click selects and zooms, dragging moves.
let grip = null;
function onMove(e) {
  if (grip && (e.buttons & 1)) {
    const dx = e.clientX - grip.x, dy = e.clientY - grip.y;
    if (!grip.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
    grip.moved = true;
    move(-dx / wide);
    scroll.scrollTop -= dy;
    grip.x = e.clientX;
    grip.y = e.clientY;
    showTip(-1);
    return;
  }
  hover(barAt(e.offsetX, e.offsetY), e.clientX, e.clientY);
}

function hover(i, x, y) {
  if (i !== state.hover) {
    state.hover = i;
    canvas.style.cursor = i >= 0 ? "pointer" : "default";
    redraw();
  }
  showTip(i, x, y);
}

function onUp(e) {
  const moved = grip && grip.moved;
  grip = null;
  if (moved || e.button !== 0) return;
  const i = barAt(e.offsetX, e.offsetY);
  if (i < 0) return;
  select(i);
  zoomTo(i);
}

// The keyboard: from bar to bar.
function onKey(e) {
  const t = place.tree, i = state.selected;
  const moves = {
    ArrowUp: function () { return i > 0 ? t.parent[i] : 0; },
    ArrowDown: function () { return i < 0 ? 0 : i + 1 < t.n && t.depth[i + 1] > t.depth[i] && place.w[i + 1] > 0 ? i + 1 : i; },
    ArrowLeft: function () { return beside(i, -1); },
    ArrowRight: function () { return beside(i, 1); },
    Home: function () { return 0; },
  };
  const acts = {
    Enter: function () { if (i >= 0) zoomTo(i); },
    " ": function () { if (i >= 0) zoomTo(i); },
    Escape: reset,
    "+": function () { zoomAround(0.5, 0.7); },
    "=": function () { zoomAround(0.5, 0.7); },
    "-": function () { zoomAround(0.5, 1 / 0.7); },
  };
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (moves[e.key]) {
    e.preventDefault();
    const next = moves[e.key]();
    select(next);
    inSight(next);
    byId("live").textContent = nameOf(t, next) + ", " + facts(t, next).map(function (f) { return f.what + " " + f.values.join(" to "); }).slice(0, 3).join(", ");
  } else if (acts[e.key]) {
    e.preventDefault();
    acts[e.key]();
  }
}

// beside returns the next bar of the same row.
function beside(i, step) {
  if (i < 0) return 0;
  const row = place.rows[place.tree.depth[i]], k = row.indexOf(i) + step;
  return row[Math.max(0, Math.min(row.length - 1, k))];
}

// inSight moves as far as it must for a bar to be seen.
function inSight(i) {
  const y = place.tree.depth[i] * ROW;
  if (y < scroll.scrollTop) scroll.scrollTop = y;
  else if (y + ROW > scroll.scrollTop + high) scroll.scrollTop = y + ROW - high;
  const x0 = place.x[i] / place.whole, x1 = (place.x[i] + place.w[i]) / place.whole;
  if (x1 > state.from && x0 < state.to) return;
  zoomTo(place.tree.parent[i] > 0 ? place.tree.parent[i] : 0);
}

function onTable(e) {
  const b = e.target.closest("button");
  if (!b) return;
  if (b.dataset.f) {
    pick(+b.dataset.f);
    const again = byId("body").querySelector("[data-f=\"" + b.dataset.f + "\"]");
    if (again) again.focus();
    return;
  }
  if (!b.dataset.sort) return;
  if (table.key === b.dataset.sort) table.down = !table.down;
  else {
    table.key = b.dataset.sort;
    table.down = true;
  }
  showTable();
}

// On paper all of it is shown, in the colours of paper.
function beforePrint() {
  applyTheme("light");
  printing = true;
  scroll.scrollTop = 0;
  fit();
}
function afterPrint() {
  printing = false;
  applyTheme();
  fit();
}

function begin() {
  byId("title").textContent = data.title;
  byId("notes").textContent = data.notes.join(" ");
  if (isSampled) {
    const width = byId("by").children;
    width[0].textContent = "Total";
    const what = data.unit === "ns" ? "time" : data.unit;
    width[0].title = "Width by " + what + " in a function and those that it called";
    width[1].title = "Width by " + what + "; colour is as strong as the function's own part in it";
    width[2].hidden = true;
    document.querySelector("[data-sort=calls]").parentElement.hidden = true;
    if (data.unit !== "ns") {
      for (const b of document.querySelectorAll("[data-sort=self],[data-sort=total]")) b.textContent += " " + data.unit;
    }
  }
  if (isDiff) {
    byId("side").hidden = byId("change").hidden = false;
    byId("by").children[1].hidden = true; // it differs by its colours only
    for (const b of document.querySelectorAll("[data-sort]")) if (b.dataset.sort !== "name") b.textContent = "± " + b.textContent;
    sideNames.forEach(function (name, k) {
      const b = byId("side").children[1 + k];
      b.textContent = name;
      b.title = data.labels[k] ? "Width by " + data.labels[k] + " alone" : "";
    });
  }
  try {
    state.theme = localStorage.getItem("cairn.theme") || "";
  } catch (e) { /* a browser may not keep anything for files */ }
  const wanted = recall();
  applyTheme();
  rearrange();
  byId("query").value = wanted.query;
  search(wanted.query);
  if (wanted.at > 0 && wanted.at < place.tree.n) {
    zoomTo(wanted.at, true);
    select(wanted.at);
  }

  for (const id of ["view", "by", "side", "change"]) {
    byId(id).addEventListener("click", function (e) {
      const b = e.target.closest("button");
      if (!b || state[id] === b.dataset.value) return;
      state[id] = b.dataset.value;
      rearrange();
    });
  }
  byId("query").addEventListener("input", function (e) { search(e.target.value); });
  byId("reset").addEventListener("click", reset);
  byId("theme").addEventListener("click", function () {
    state.theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("cairn.theme", state.theme);
    } catch (e) { /* then it is for this time only */ }
    applyTheme();
  });
  byId("list").addEventListener("click", onTable);
  canvas.addEventListener("wheel", onWheel, { passive: false });
  canvas.addEventListener("mousedown", function (e) { if (e.button === 0) grip = { x: e.clientX, y: e.clientY, moved: false }; });
  canvas.addEventListener("mousemove", onMove);
  canvas.addEventListener("mouseup", onUp);
  canvas.addEventListener("mouseleave", function () { hover(-1); });
  canvas.addEventListener("keydown", onKey);
  scroll.addEventListener("scroll", redraw, { passive: true });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      e.preventDefault();
      byId("query").focus();
    }
  });
  dark.addEventListener("change", function () { applyTheme(); });
  new ResizeObserver(fit).observe(scroll);
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", afterPrint);
}

begin();
