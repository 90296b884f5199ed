const doc = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const state = {index: 0, zoom: "peak", view: null, query: ""};

function element(name, text, cls) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}

const place = f => f.file ? f.file + (f.line ? ":" + f.line : "") : f.module || "";
const base = path => path.replace(/^.*\//, "");
const matches = name => state.query !== "" && name.toLowerCase().includes(state.query);
const hit = s => s.stack.some(f => matches(f.function)) || s.children.some(f => matches(f.function)) || (s.desc || "").toLowerCase().includes(state.query);

let list = [];

// about tells spikes of one function apart: by what the program said, or the
// callers.
function about(s) {
  const callers = s.stack.slice(0, -1).reverse().map(f => f.function.replace(/\(.*$/, ""));
  return s.desc || "in " + callers.filter((f, i) => f !== callers[i - 1]).slice(0, 4).join(", ");
}

function rows() {
  const body = $("body");
  body.replaceChildren();
  let shown = 0;
  doc.spikes.forEach((s, i) => {
    if (state.query && !hit(s)) return;
    shown++;
    const tr = element("tr"), th = element("th"), button = element("button");
    th.scope = "row";
    button.append(element("span", s.function, "name"), element("span", about(s), "place"));
    button.title = [s.function, s.place, ...s.stack.slice(0, -1).reverse().slice(0, 12).map(f => "in " + f.function)].filter(t => t).join("\n");
    th.append(button);
    tr.append(th, element("td", s.text), element("td", s.seen.toLocaleString("en")));
    tr.addEventListener("click", () => select(i));
    tr.dataset.index = i;
    tr.setAttribute("aria-selected", i === state.index);
    body.append(tr);
  });
  const more = [];
  if (doc.left) more.push(doc.left.toLocaleString("en") + (doc.left === 1 ? " stack more in the logs" : " stacks more in the logs"));
  if (state.query) more.push(shown + " of " + doc.spikes.length + " shown");
  if (!doc.spikes.length) more.push("No spike.");
  $("more").textContent = more.join("; ");
}

function facts(s) {
  const list = [(s.thread ? s.thread : "thread " + s.tid) + " of process " + s.pid];
  if (s.frame) list.push("frame " + s.frame);
  list.push("at " + (s.at_ns / 1e9).toFixed(3) + " s");
  if (s.seen > 1) list.push("seen " + s.seen.toLocaleString("en") + " times" + (s.worst_ns > s.interval_ns[0] ? ", worst at least " + duration(s.worst_ns) : ""));
  if (s.why && s.why.text) list.push(s.why.text);
  if (s.frozen_ns) list.push("the process stood still for " + duration(s.frozen_ns) + " of it");
  const why = (s.group_reasons || []).filter(r => r.calls);
  if (s.seen > 1 && why.length) list.push(why.slice(0, 4).map(r => r.calls.toLocaleString("en") + " " + r.reason + ", " + duration(r.time_ns)).join("; "));
  if (s.why && s.why.waited_at) list.push("waited at " + place(s.why.waited_at) + (s.why.waited_below || []).slice(0, 6).map(f => " > " + f.function).join(""));
  if (s.caller) list.push("a caller: " + interval(s.caller.self_ns) + " of it in no long call");
  if (s.blind_ns) list.push("the clock was late for " + duration(s.blind_ns) + " of it");
  return list.concat(s.remarks || []).join(" · ");
}

function row(table, index, name, where, time, cls) {
  const tr = element("tr", undefined, cls), f = element("td", undefined, "f");
  f.append(name);
  tr.append(element("td", index, "n"), f, element("td", time, "t"), element("td", where, "p"));
  table.append(tr);
  return f;
}

// stack writes what the picture shows as a table, with lines.
function stack(s) {
  const table = element("table", undefined, "stack"), head = element("tr");
  for (const text of ["", "Function", "Time", "Line"]) head.append(element("th", text));
  table.append(head);
  const ends = new Map(s.parents.filter(p => p.index >= 0).map(p => [p.index, p]));
  s.stack.forEach((f, i) => {
    const peak = i === s.stack.length - 1, end = ends.get(i);
    let time = peak ? s.text : s.times[i] ? "so far " + s.times[i] : "";
    if (!f.so_far_ns) time = "no probe";
    if (end) time += ", took " + interval(end.interval_ns);
    if (f.abandoned) time += ", no end seen";
    const cell = row(table, i + ")", f.function + (f.section ? " [" + f.section + "]" : ""), place(f), time, peak ? "peak" : "");
    if (f.desc) cell.append(element("span", "  “" + f.desc + "”", "quote"));
    for (const in_ of f.inlined || []) {
      cell.append(element("br"), element("span", "inlined: " + in_.function + (place(in_) ? "  " + place(in_) : ""), "inl"));
    }
    if (f.gap) row(table, "", "(calls left out)", "", "");
  });
  for (const c of s.children) {
    const many = c.calls > 1 ? " in " + c.calls.toLocaleString("en") + " calls, the longest " + interval(c.longest_ns) : "";
    row(table, "", "of which " + c.function, place(c), interval(c.interval_ns) + (c.share >= 0 ? " (" + Math.round(100 * c.share) + " %)" : "") + many, "child");
  }
  for (const m of s.msgs || []) row(table, "", "“" + m + "”", "", "", "child").classList.add("quote");
  return table;
}

function marks() {
  const box = $("marks");
  if (!doc.suggestions.length) return;
  box.append(element("h3", "Mark-up that would silence what may be no news"));
  for (const m of doc.suggestions) {
    const p = element("p", m.function + (m.file ? "  " : ""));
    if (m.file) p.append(element("span", m.file, "soft"));
    box.append(p, element("code", m.markup), element("p", m.why, "soft"));
  }
}

function paint() {
  const s = doc.spikes[state.index];
  if (!s) return;
  if (state.zoom === "window" && !s.timeline) state.zoom = "peak";
  if (!state.view) state.view = span(s, list, state.zoom);
  draw($("picture"), s, list, state.view, state.query ? matches : null);
  $("window").hidden = !s.timeline;
  if (s.timeline) drawCalls($("calls"), s, state.view, state.query ? matches : null);
  for (const b of $("zoom").children) {
    b.setAttribute("aria-pressed", b.dataset.value === state.zoom);
    if (b.dataset.value === "window") b.hidden = !s.timeline;
  }
}

function legend(s) {
  const box = $("legend");
  box.replaceChildren();
  const add = (cls, text) => {
    const e = element("span");
    e.append(element("i", undefined, cls), element("span", text));
    box.append(e);
  };
  add("peak", s.caller ? "the caller: the calls below do not explain its time" : "the peak: the first call to take too long");
  add("limit", "the threshold, " + duration(s.threshold_ns));
  add("fade", "the call began, or ended, in here");
  if (s.children.length) add("child", (s.caller ? "calls of the caller, by function" : "calls of the peak") + ": their length, not their place, is known");
  add("tick", "the clock moved" + (s.period_ns ? ", every " + duration(s.period_ns) + " if it was not late" : ""));
  if ((s.stalls || []).length) add("blind", "the clock stood still");
}

function select(i) {
  const s = doc.spikes[i];
  if (!s) return;
  state.index = i;
  state.view = null;
  list = bars(s);
  $("head").textContent = s.text + " in " + s.function + (s.desc ? " “" + s.desc + "”" : "");
  $("facts").textContent = facts(s);
  $("below").replaceChildren(stack(s));
  legend(s);
  $("window").querySelector("p").textContent = s.timeline ? aboutCalls(s) : "";
  for (const tr of $("body").children) tr.setAttribute("aria-selected", Number(tr.dataset.index) === i);
  history.replaceState(null, "", "#" + (i + 1));
  paint();
}

function move(step) {
  const shown = [...$("body").children].map(tr => Number(tr.dataset.index));
  const at = shown.indexOf(state.index), next = shown[at + step];
  if (next === undefined) return;
  select(next);
  $("body").children[at + step].scrollIntoView({block: "nearest"});
}

function tip(event) {
  const g = event.target.closest && event.target.closest("[data-bar]"), box = $("tip");
  box.hidden = !g;
  if (!g) return;
  const b = list[Number(g.dataset.bar)];
  box.replaceChildren(element("b", b.name));
  const say = text => text && box.append(element("p", text));
  say(place(b.frame));
  if (b.kind !== "child" && b.frame.so_far_ns && b.kind !== "peak") say("had run for " + interval(b.frame.so_far_ns) + " when the peak ended");
  if (b.took) say("took " + interval(b.took) + (b.share > 0 ? ", " + Math.round(100 * b.share) + " % of the peak" : ""));
  if (b.kind !== "child" && !b.from) say("no probe: its time is not known");
  if (b.frame.abandoned) say("no end seen: left by exception or longjmp, or has a threshold of its own");
  showTip(event);
}

function tipOfCall(event) {
  const g = event.target.closest && event.target.closest("[data-call]"), box = $("tip");
  box.hidden = !g;
  if (!g) return;
  const t = doc.spikes[state.index].timeline, b = t.bars[Number(g.dataset.call)];
  const say = text => box.append(element("p", text));
  box.replaceChildren(element("b", t.names[b.n]));
  if (b.c > 1) say(b.c.toLocaleString("en") + " calls that were running when the clock moved, from " + when(b.a) + " to " + when(b.z));
  else say("from about " + when(b.a) + " to about " + when(b.z) + ": " + duration(b.z - b.a));
  showTip(event);
}

const when = t => Math.abs(t) < 1 ? "0" : (t < 0 ? "-" : "+") + duration(Math.abs(t));

function showTip(event) {
  const box = $("tip");
  box.style.left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8) + "px";
  box.style.top = Math.min(event.clientY + 16, innerHeight - box.offsetHeight - 8) + "px";
}

function pointer(box, tip) {
  let drag = null;
  box.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX) && !e.altKey) return; // the page scrolls
    e.preventDefault();
    const [a, b] = state.view, at = a + (b - a) * (e.clientX - box.getBoundingClientRect().left) / box.clientWidth;
    const f = Math.exp((e.deltaY || e.deltaX) / 400);
    state.view = [at - (at - a) * f, at + (b - at) * f];
    state.zoom = "";
    paint();
  }, {passive: false});
  box.addEventListener("pointerdown", e => { if (e.button === 0 && state.view) drag = {x: e.clientX, view: state.view}; });
  addEventListener("pointermove", e => {
    if (!drag) return;
    const shift = (e.clientX - drag.x) / box.clientWidth * (drag.view[1] - drag.view[0]);
    if (Math.abs(e.clientX - drag.x) < 3 && state.zoom) return;
    state.view = drag.view.map(t => t - shift);
    state.zoom = "";
    paint();
  });
  addEventListener("pointerup", () => { drag = null; });
  box.addEventListener("pointermove", e => { if (!drag) tip(e); });
  box.addEventListener("pointerleave", () => { $("tip").hidden = true; });
}

function zoomBy(f) {
  if (!state.view) return;
  const [a, b] = state.view;
  state.view = [a * f, b * f];
  state.zoom = "";
  paint();
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
}

function start() {
  $("title").textContent = doc.title;
  $("reach").querySelector("summary").textContent = doc.reach.find(t => t.startsWith("Threshold")) || doc.reach[0] || "";
  for (const text of doc.reach.filter(t => !t.startsWith("Threshold"))) $("reach").querySelector("ul").append(element("li", text));
  for (const text of doc.notes || []) $("notes").append(element("p", text.trim(), text.startsWith("   ") ? "deep" : ""));
  theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  $("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  for (const b of $("zoom").children) b.addEventListener("click", () => { state.zoom = b.dataset.value; state.view = null; paint(); });
  $("query").addEventListener("input", e => { state.query = e.target.value.toLowerCase().trim(); rows(); paint(); });
  addEventListener("keydown", e => {
    if (e.target === $("query")) { if (e.key === "Escape") { e.target.value = ""; e.target.dispatchEvent(new Event("input")); } return; }
    const keys = {ArrowDown: () => move(1), ArrowUp: () => move(-1), "+": () => zoomBy(.7), "-": () => zoomBy(1.4), "/": () => $("query").focus(),
      Escape: () => { state.zoom = "peak"; state.view = null; paint(); }};
    if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); keys[e.key](); }
  });
  new ResizeObserver(() => paint()).observe($("picture"));
  pointer($("picture"), tip);
  pointer($("calls"), tipOfCall);
  rows();
  marks();
  const wanted = Number(location.hash.slice(1));
  if (doc.spikes.length) select(wanted > 0 && wanted <= doc.spikes.length ? wanted - 1 : 0);
  else $("head").textContent = "No spike";
}
start();
