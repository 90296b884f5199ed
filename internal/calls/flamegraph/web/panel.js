// What stands beside the drawing: the tip at the mouse, the details of the bar
// that was selected, the table of functions. All text goes in as text.

function element(tag, name, text) {
  const e = document.createElement(tag);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return e;
}

function signed(v, write) { return v > 0 ? "+" + write(v) : v < 0 ? "-" + write(-v) : "±0"; }

// coarse writes the time of a single call, which is known to a step of the clock.
function coarse(v) { return data.step && v < 2 * data.step ? "< " + duration(v + data.step) : duration(v); }

// facts returns what is known of a bar, a row for each value: what it is, and the
// value of each side as text, with its share of the whole.
function facts(t, i) {
  const rows = [];
  const add = function (what, values, write, whole) {
    if (values.every(function (v) { return v === null; })) return;
    const row = { what: what, values: values.map(function (v) { return v === null ? "" : write(v); }) };
    if (whole && !isDiff) row.share = percent(values[0], whole[0]);
    if (isDiff) row.change = values[0] === null || values[1] === null ? "" : signed(values[1] - values[0], write);
    if (isDiff) row.sign = row.change ? Math.sign(values[1] - values[0]) : 0;
    rows.push(row);
  };
  const each = function (get) { return t.sides.map(get); };
  const whole = each(function (s) { return s.total[0]; });
  if (t.view === "down") add("total", each(function (s) { return s.total[i]; }), duration, whole);
  if (!isLabel(t, i)) {
    add("self", each(function (s) { return s.self[i]; }), duration, whole);
    if (!isSampled) add("calls", each(function (s) { return s.calls[i]; }), count);
  }
  if (isSampled || t.view === "up" || !isFunction(t, i)) return rows;
  add("mean", each(function (s) { return s.calls[i] ? s.total[i] / s.calls[i] : null; }), duration);
  ["min", "median", "90 %", "99 %", "max"].forEach(function (what, k) {
    if (each(function (s) { return s.calls[i]; }).every(function (n) { return n < 2; })) return;
    add(what, each(function (s) {
      const at = s.at[i];
      if (at < 0) return s.calls[i] ? s.total[i] : null;
      const unknown = s.spread[at] > s.spread[at + 1] && (k < 4 || s.spread[at + 4] === 0);
      return unknown ? null : s.spread[at + k];
    }), coarse);
  });
  return rows;
}

// remarks are sentences about a bar's numbers.
function remarks(t, i) {
  const list = [];
  if (isMerged(t, i)) list.push("Stacks that are too small to draw. The sums have them.");
  if (isNew(t, i)) list.push("New: not called before.");
  if (isGone(t, i)) list.push("Gone: no longer called.");
  let deduced = 0, open = 0, calls = 0;
  for (const s of t.sides) {
    deduced += s.deduced.get(i) || 0;
    open += s.open.get(i) || 0;
    calls += s.calls[i];
  }
  const of = function (n) { return count(n) + " of " + count(calls) + (calls === 1 ? " call" : " calls"); };
  if (deduced) list.push(of(deduced) + (deduced === 1 ? " has" : " have") + " no exit in the log: the time is a lower bound.");
  if (open) list.push(of(open) + (open === 1 ? " was" : " were") + " still running when the log ended.");
  return list;
}

function factTable(t, i) {
  const table = element("table", "facts");
  if (isDiff) {
    const head = table.createTHead().insertRow();
    for (const text of ["", sideNames[0], sideNames[1], "change"]) {
      const th = element("th", "", text);
      th.scope = "col";
      head.append(th);
    }
  }
  const body = table.createTBody();
  for (const row of facts(t, i)) {
    const tr = body.insertRow(), th = element("th", "", row.what);
    th.scope = "row";
    tr.append(th);
    for (const v of row.values) tr.append(element("td", "", v));
    if (isDiff) tr.append(element("td", row.sign > 0 ? "up" : row.sign < 0 ? "down" : "soft", row.change));
    else tr.append(element("td", "soft", row.share || ""));
  }
  return table;
}

// showTip shows what is known of a bar at a point of the window, or hides it.
const tip = byId("tip");
function showTip(i, x, y) {
  if (i < 0) {
    tip.hidden = true;
    return;
  }
  const t = place.tree;
  tip.replaceChildren(element("b", "", prefix(t, i) + nameOf(t, i)), factTable(t, i));
  for (const text of remarks(t, i)) tip.append(element("p", "", text));
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 14;
  const left = x + gap + box.width > innerWidth ? x - gap - box.width : x + gap;
  const top = y + gap + box.height > innerHeight ? y - gap - box.height : y + gap;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}

// showDetails shows the bar that is selected.
function showDetails() {
  const box = byId("details"), i = state.selected, t = place.tree;
  box.className = i < 0 ? "help" : "";
  if (i < 0) {
    const help = element("p", "soft", "Click a bar to zoom and to see all of its numbers. Click one above it to go back.");
    const keys = element("p", "soft", "Ctrl and the wheel zoom, dragging moves. With the keyboard: arrows, Enter, Escape, + and -; / to search.");
    box.replaceChildren(element("h2", "", "Nothing is selected"), help, keys);
    return;
  }
  const parts = [element("h2", "", prefix(t, i) + nameOf(t, i)), factTable(t, i)];
  for (const text of remarks(t, i)) parts.push(element("p", "remark", text));
  if (i > 0) {
    const names = stackOf(t, i).map(function (k) { return nameOf(t, k); });
    const buttons = element("p", "buttons");
    const copy = element("button", "", "Copy stack");
    copy.addEventListener("click", function () { copyText(names.join("\n"), copy); });
    buttons.append(copy);
    if (isFunction(t, i)) {
      const all = element("button", "", "Find everywhere");
      all.addEventListener("click", function () { pick(t.name[i]); });
      buttons.append(all);
    }
    const list = element("ol", "stack");
    names.forEach(function (name, k) { list.append(element("li", k === (t.view === "up" ? 0 : names.length - 1) ? "here" : "", name)); });
    parts.push(buttons, element("h3", "", t.view === "up" ? "Inner part of the stack, outermost first" : "Stack, outermost first"), list);
  }
  box.replaceChildren(...parts);
}

// copyText puts text on the clipboard; a page from a file may not have the new way.
function copyText(text, button) {
  const said = button.textContent;
  const done = function (ok) {
    button.textContent = ok ? "Copied" : "Not allowed";
    setTimeout(function () { button.textContent = said; }, 1500);
  };
  const old = function () {
    const area = element("textarea", "hidden");
    area.value = text;
    document.body.append(area);
    area.select();
    let ok = false;
    try {
      ok = document.execCommand("copy");
    } catch (e) { /* said below */ }
    area.remove();
    button.focus();
    done(ok);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(function () { done(true); }, old);
  else old();
}

// The table of functions, of all stacks: also of those that are not drawn.
const table = { key: "self", down: true, shown: 200 };
const columnAt = { self: 0, total: 1, calls: 2 };
function cellOf(f, key, k) { return data.sides[k].functions[3 * f + columnAt[key]]; }
function valueOf(f, key) { return isDiff ? cellOf(f, key, 1) - cellOf(f, key, 0) : cellOf(f, key, 0); }

function sortedFunctions() {
  const list = [];
  for (let f = 0; f < functions; f++) if (!state.hit || state.hit[f]) list.push(f);
  const sign = table.down ? -1 : 1;
  const size = function (f) {
    const v = valueOf(f, table.key);
    return isDiff ? Math.abs(v) : v;
  };
  if (table.key === "name") {
    list.sort(function (a, b) { return sign * (data.names[a] < data.names[b] ? 1 : data.names[a] > data.names[b] ? -1 : 0) || a - b; });
  } else {
    list.sort(function (a, b) { return sign * (size(a) - size(b)) || a - b; });
  }
  return list;
}

function showTable() {
  const list = sortedFunctions(), body = byId("body"), rows = [];
  const most = {};
  for (const key of ["self", "total"]) {
    most[key] = 0;
    for (let f = 0; f < functions; f++) most[key] = Math.max(most[key], Math.abs(valueOf(f, key)));
  }
  for (const f of list.slice(0, table.shown)) {
    const tr = element("tr", f === state.pick ? "picked" : "");
    const head = element("th"), button = element("button", "name", data.names[f]);
    head.scope = "row";
    button.title = data.names[f];
    button.setAttribute("aria-pressed", String(f === state.pick));
    button.dataset.f = f;
    head.append(button);
    tr.append(head);
    for (const key of isSampled ? ["self", "total"] : ["self", "total", "calls"]) {
      const v = valueOf(f, key), write = key === "calls" || isSampled && data.unit !== "ns" ? count : duration;
      const td = element("td", "", isDiff ? signed(v, write) : write(v));
      if (isDiff) {
        td.classList.add(v > 0 ? "up" : v < 0 ? "down" : "soft");
        td.title = "before " + write(cellOf(f, key, 0)) + ", after " + write(cellOf(f, key, 1));
      } else if (key !== "calls") {
        td.title = percent(v, downward.sides[0].total[0]);
        const part = most[key] ? 100 * v / most[key] : 0;
        td.style.backgroundSize = "calc(" + part.toFixed(1) + "% * 0.9) 2px";
        td.classList.add("meter");
      }
      tr.append(td);
    }
    rows.push(tr);
  }
  body.replaceChildren(...rows);
  for (const b of document.querySelectorAll("[data-sort]")) {
    const th = b.parentElement, on = b.dataset.sort === table.key;
    th.setAttribute("aria-sort", on ? (table.down !== (table.key === "name") ? "descending" : "ascending") : "none");
  }
  const more = byId("more"), hidden = list.length - Math.min(list.length, table.shown);
  more.replaceChildren();
  if (hidden) {
    const b = element("button", "", "Show " + count(hidden) + " more");
    b.addEventListener("click", function () {
      table.shown = Infinity;
      showTable();
    });
    more.append(b);
  } else if (data.unlisted && !state.hit) {
    more.textContent = count(data.unlisted) + " functions with less time and no bar are not listed.";
  } else if (!list.length) {
    more.textContent = "No function is called that.";
  }
}

// showPath shows what is above the bar that was zoomed to.
function showPath() {
  const t = place.tree, list = [0].concat(state.zoomed ? (t.view === "up" ? stackOf(t, state.zoomed).reverse() : stackOf(t, state.zoomed)) : []);
  const parts = [], most = narrow.matches ? 4 : 6;
  list.forEach(function (i, k) {
    const last = k === list.length - 1;
    if (list.length > most && k > 0 && k < list.length - most + 2) {
      // The drawing has those between, one below the other.
      if (k === 1) parts.push(element("span", "soft", t.view === "up" ? "‹ …" : "› …"));
      return;
    }
    if (k) parts.push(element("span", "soft", t.view === "up" ? "‹" : "›"));
    const b = element("button", last ? "here" : "", nameOf(t, i));
    if (last) b.setAttribute("aria-current", "location");
    b.title = nameOf(t, i);
    b.addEventListener("click", function () { zoomTo(i); });
    parts.push(b);
  });
  const box = byId("path");
  box.replaceChildren(...parts);
  box.scrollLeft = box.scrollWidth;
}

// showStatus says what was found, and below it what the colours mean.
function showStatus() {
  const found = byId("found");
  let hit = state.hit;
  if (state.pick >= 0) {
    hit = new Uint8Array(data.names.length);
    hit[state.pick] = 1;
  }
  found.className = "";
  if (typeof state.wrong === "string") {
    found.textContent = state.wrong;
    found.className = "wrong";
  } else if (hit) {
    const c = covered(layout(downward, state.by, state.side), hit);
    found.textContent = (state.pick >= 0 ? data.names[state.pick] : state.query) + ": " +
      (c.bars ? percent(c.share, 1) + (state.by === "calls" ? " of all calls" : " of the " + (data.unit === "ns" || !isSampled ? "time" : data.unit)) + " in or below " + count(c.bars) + (c.bars === 1 ? " bar" : " bars") : "no bar");
  } else {
    found.textContent = count(data.stacks) + (data.stacks === 1 ? " stack" : " stacks");
  }
  showLegend();
}

function showLegend() {
  const legend = byId("legend"), parts = [];
  if (isDiff) {
    const write = state.by === "calls" ? count : duration;
    const what = state.by === "calls" ? "calls" : state.change === "self" ? "self time" : "total time";
    parts.push(element("span", "", what + " -" + write(place.largest)));
    const scale = element("span", "scale");
    for (let k = 0; k <= 16; k++) {
      const box = element("i");
      box.style.background = "var(--d" + k + ")";
      scale.append(box);
    }
    parts.push(scale, element("span", "", "+" + write(place.largest)), element("i", "new"), element("span", "", "new"), element("i", "gone"), element("span", "", "gone"));
  }
  if (downward.sides.some(function (s) { return s.deduced.size || s.open.size; })) {
    parts.push(element("i", "cut"), element("span", "", "calls without an exit"));
  }
  (data.kindNames || []).forEach(function (name, k) {
    if (!k || !data.kinds.includes(k)) return;
    const box = element("i", "kind");
    box.style.background = "var(--k" + k + ")";
    parts.push(box, element("span", "", name));
  });
  legend.replaceChildren(...parts);
}
