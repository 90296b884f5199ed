/*
 * timeline-input.js moves the time line: wheel, pointers, pinching, keys on the canvas. Dragging
 * moves; with Shift, or in the axis, it selects; in the map it chooses what is seen.
 */
cairn.timelineInput = function (t) {
  const pointers = new Map();
  let drag = null, pinch = 0;
  const at = function (event, target) {
    const box = target.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  function wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      t.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * (event.deltaMode ? 0.06 : 0.008)), at(event, event.currentTarget).x);
      return;
    }
    const dx = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (Math.abs(dx) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      t.pan(dx * (event.deltaMode ? 16 : 1));
    } else if (event.currentTarget !== t.canvas) {
      event.preventDefault();
      t.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.06 : 0.004)), at(event, event.currentTarget).x);
    }
  }

  function down(event) {
    if (event.button !== 0) return;
    const p = at(event, t.canvas);
    pointers.set(event.pointerId, p);
    event.currentTarget.setPointerCapture(event.pointerId);
    hideTip();
    if (pointers.size === 2) {
      pinch = distance();
      drag = null;
      return;
    }
    const v = t.state.view;
    drag = { x: p.x, y: p.y, from: v.from, to: v.to, top: t.scroll.scrollTop, selects: event.shiftKey || event.currentTarget === t.axis, moved: false };
  }

  function distance() {
    const [a, b] = [...pointers.values()];
    return Math.max(20, Math.abs(a.x - b.x));
  }

  function move(event) {
    const p = at(event, t.canvas);
    if (!pointers.has(event.pointerId)) {
      if (event.currentTarget === t.canvas) hover(event, p);
      else hoverAxis(event);
      return;
    }
    pointers.set(event.pointerId, p);
    if (pointers.size === 2) {
      const now = distance();
      const [a, b] = [...pointers.values()];
      t.zoom(pinch / now, (a.x + b.x) / 2);
      pinch = now;
      return;
    }
    if (!drag) return;
    drag.moved = drag.moved || Math.abs(p.x - drag.x) + Math.abs(p.y - drag.y) > 4;
    if (!drag.moved) return;
    if (drag.selects) {
      const a = t.timeAt(drag.x), z = t.timeAt(p.x);
      t.select({ from: Math.min(a, z), to: Math.max(a, z) });
      return;
    }
    const by = (p.x - drag.x) * (drag.to - drag.from) / t.state.view.width;
    t.look(drag.from - by, drag.to - by);
    t.scroll.scrollTop = drag.top - (p.y - drag.y);
  }

  function up(event) {
    const was = drag;
    pointers.delete(event.pointerId);
    if (!pointers.size) drag = null;
    if (!was || was.moved || event.type === "pointercancel") return;
    if (event.currentTarget === t.axis) {
      t.select(null);
      return;
    }
    const found = t.hit(was.x, was.y);
    if (found && found.spike) t.showSpike(found.spike);
    else t.choose(found && found.record || null);
  }

  function twice(event) {
    const p = at(event, t.canvas);
    const found = t.hit(p.x, p.y);
    if (found && found.record) t.fit(found.record);
  }

  // The map: a click centres what is seen there, dragging chooses a part.

  let chosen = null;
  function mapDown(event) {
    if (event.button !== 0) return;
    t.map.setPointerCapture(event.pointerId);
    chosen = at(event, t.map).x;
  }
  function mapMove(event) {
    if (chosen === null) return;
    const x = at(event, t.map).x;
    if (Math.abs(x - chosen) < 4) return;
    const unit = t.end / t.state.view.width;
    t.look(Math.min(x, chosen) * unit, Math.max(x, chosen) * unit);
  }
  function mapUp(event) {
    if (chosen === null) return;
    const x = at(event, t.map).x;
    if (Math.abs(x - chosen) < 4) {
      const v = t.state.view, half = (v.to - v.from) / 2, middle = x * t.end / v.width;
      t.look(middle - half, middle + half);
    }
    chosen = null;
  }

  // What is below the pointer.

  function hover(event, p) {
    const found = t.hit(p.x, p.y);
    const what = found && (found.spike || found.record);
    t.canvas.style.cursor = what ? "pointer" : "";
    if (!what) return hideTip();
    const rows = found.spike ? cairn.timelineCards.spikeRows(found.spike) : cairn.timelineCards.callRows(t.model, found.record, t.duration);
    showTip(event, rows);
  }

  function hoverAxis(event) {
    const p = at(event, t.axis);
    const f = cairn.lanes.frameAt(t.model, t.state.view, p.x, p.y);
    if (f) showTip(event, cairn.timelineCards.frameRows(f));
    else hideTip();
  }

  function showTip(event, rows) {
    const el = cairn.el;
    t.tip.replaceChildren(el("b", null, rows[0]), el("table", null, rows.slice(1).map(function (r) { return el("tr", null, el("td", { class: "soft" }, r[0]), el("td", null, r[1])); })));
    t.tip.hidden = false;
    const w = t.tip.offsetWidth, h = t.tip.offsetHeight;
    t.tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 8)) + "px";
    t.tip.style.top = (event.clientY + 18 + h > innerHeight ? Math.max(4, event.clientY - h - 10) : event.clientY + 18) + "px";
  }

  function hideTip() { t.tip.hidden = true; }

  const arrows = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const r = t.state.chosen;
    if (event.key === "Enter" && r) {
      t.fit(r);
    } else if (arrows[event.key]) {
      const next = r ? cairn.lanes.step(t.lane(r.lane), r, arrows[event.key]) : first();
      if (!next) return;
      t.choose(next);
      const v = t.state.view;
      if (next.to < v.from || next.from > v.to) t.look(next.from - (v.to - v.from) / 2, next.from + (v.to - v.from) / 2);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** first is a call to begin with. */
  function first() {
    for (let i = 0; t.lane(i); i++) {
      const r = cairn.lanes.find(t.lane(i), 1, (t.state.view.from + t.state.view.to) / 2, t.end);
      if (r) return r;
    }
    return null;
  }

  for (const target of [t.canvas, t.axis]) {
    target.addEventListener("wheel", wheel, { passive: false });
    target.addEventListener("pointerdown", down);
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", up);
    target.addEventListener("pointercancel", up);
  }
  t.map.addEventListener("wheel", wheel, { passive: false });
  t.map.addEventListener("pointerdown", mapDown);
  t.map.addEventListener("pointermove", mapMove);
  t.map.addEventListener("pointerup", mapUp);
  for (const target of [t.canvas, t.axis]) target.addEventListener("pointerleave", hideTip);
  t.canvas.addEventListener("dblclick", twice);
  t.canvas.addEventListener("keydown", key);
  return hideTip;
};
