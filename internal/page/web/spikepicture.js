/* spikepicture.js draws a spike: its stack over time, and the calls around it. */
cairn.spikePicture = (function () {
  // Times on the page are nanoseconds before (-) and after (+) the end of the peak.
  const ROW = 22, GAP = 2, AXIS = 24, CLOCK = 14;

  // interval is a duration for people as the command prints it: three digits, the
  // lower bound rounded down and the upper one up.
  function interval([lo, hi]) {
    const [unit, size] = [["s", 1e9, 1e10], ["ms", 1e6, 1e5], ["us", 1e3, 1e3], ["ns", 1, 0]].find(u => hi >= u[2]);
    let grain = size, digits = 0;
    while (grain >= 10 && hi / grain < 100 && digits < 3) { grain /= 10; digits++; }
    const text = n => (n * grain / size).toFixed(digits);
    if (hi - lo < grain) return text(Math.round((lo + hi) / 2 / grain)) + " " + unit;
    return text(Math.floor(lo / grain)) + ".." + text(Math.ceil(hi / grain)) + " " + unit;
  }

  // duration is one that is known.
  function duration(ns) {
    return interval([ns, ns]).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
  }

  // bars returns what is drawn: the stack, outermost first, then the children of
  // the peak. An end that is an interval is two times; an end that is not known is
  // null.
  function bars(s) {
    const ends = new Map();
    for (const p of s.parents) if (p.index >= 0) ends.set(p.index, p);
    const list = [];
    s.stack.forEach((f, i) => {
      const peak = i === s.stack.length - 1, end = ends.get(i);
      list.push({
        name: (f.section ? f.function + " [" + f.section + "]" : f.function), frame: f, kind: peak ? "peak" : "call", shade: s.shades[i], index: i,
        from: f.so_far_ns ? [-f.so_far_ns[1], -f.so_far_ns[0]] : null,
        to: peak ? (s.open ? null : 0) : end ? end.after_ns : null, took: peak ? s.interval_ns : end ? end.interval_ns : null,
      });
    });
    // Of a child the length is known, and not where in the peak it was.
    let from = -s.interval_ns[1];
    for (const c of s.children) {
      list.push({name: c.function, frame: c, kind: "child", from: [from, from], to: from + c.interval_ns[0], until: from + c.interval_ns[1], took: c.interval_ns, share: c.share});
    }
    return list;
  }

  // span is the part of time that a choice shows.
  function span(s, list, zoom) {
    const peak = s.interval_ns[1];
    if (zoom === "window") return [1.02 * s.timeline.from, Math.max(s.timeline.to, 0) - .02 * s.timeline.from];
    let from = -1.2 * peak, to = 0.12 * peak;
    const reach = zoom === "peak" ? 0 : zoom === "callers" ? 8 * peak : Infinity;
    for (const b of list) {
      if (b.kind === "child") continue;
      if (b.from && -b.from[0] <= reach) from = Math.min(from, 1.06 * b.from[0]);
      if (b.to !== null && b.to <= reach) to = Math.max(to, 1.1 * b.to);
    }
    return [from, to];
  }

  function node(name, attributes, parent) {
    const n = cairn.svg(name, attributes);
    if (parent) parent.append(n);
    return n;
  }

  // steps returns round times for an axis.
  function steps(from, to, most) {
    const raw = (to - from) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(x => x * power).find(x => x >= raw);
    const list = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) list.push(t);
    return list;
  }

  function axis(svg, s, view, width, x, height) {
    for (const t of steps(view[0], view[1], Math.max(2, width / 110))) {
      const at = x(t);
      node("path", {d: `M${at} ${AXIS - 4}V${height}`, stroke: "var(--faint)"}, svg);
      const label = Math.abs(t) < 1 ? "0" : (t < 0 ? "-" : "+") + duration(Math.abs(t));
      const text = node("text", {x: at, y: AXIS - 9, class: "axis", "text-anchor": at < 30 ? "start" : at > width - 30 ? "end" : "middle"}, svg);
      text.textContent = label;
    }
  }

  // clock draws when the clock is known to have moved, and when it did not: each
  // bound of an interval is a tick.
  function clock(svg, s, list, x, y, width, height) {
    const ticks = new Set();
    for (const b of list) if (b.from && b.kind !== "child") b.from.forEach(t => ticks.add(t));
    for (const t of ticks) {
      const at = x(t);
      if (at >= 0 && at <= width) node("path", {d: `M${at} ${y}v10`, stroke: "var(--soft)"}, svg);
    }
    for (const [a, b] of s.stalls || []) {
      const left = Math.max(0, x(-a)), right = Math.min(width, x(-b));
      if (right <= left) continue;
      node("rect", {x: left, y: AXIS - 4, width: Math.max(1, right - left), height: height - AXIS + 4, fill: "url(#blind)", opacity: .5, "pointer-events": "none"}, svg);
    }
  }

  function gradient(defs, id, color, stops) {
    const g = node("linearGradient", {id, x1: 0, x2: 1}, defs);
    for (const [at, opacity] of stops) node("stop", {offset: at, "stop-color": color, "stop-opacity": opacity}, g);
  }

  // bar draws one: solid where the call certainly was, fading where it may have
  // been, and to the edge where nobody knows.
  function bar(svg, defs, b, i, y, x, width) {
    const color = b.kind === "peak" ? "var(--peak)" : b.kind === "child" ? "none" : "var(--c" + b.shade + ")";
    const known = b.from !== null;
    const soft0 = known ? x(b.from[0]) : -10, hard0 = known ? x(b.from[1]) : 0;
    const hard1 = b.to === null ? Math.max(x(0), hard0) : x(b.to);
    const soft1 = b.until !== undefined ? x(b.until) : b.to === null ? Math.min(width, hard1 + 46) : hard1;
    const left = Math.max(soft0, -2), right = Math.min(soft1, width + 2), h = ROW - GAP;
    const g = node("g", {class: b.kind, "data-bar": i}, svg);
    if (right < 0 || left > width) return g;
    if (b.kind === "child") {
      node("rect", {x: left, y: y + 1, width: Math.max(2, x(b.to) - left), height: h - 2, rx: 2, fill: "var(--peak)", "fill-opacity": .28, stroke: "var(--dash)", "stroke-dasharray": "4 3"}, g);
      if (soft1 - x(b.to) > 1) node("rect", {x: x(b.to), y: y + 1, width: soft1 - x(b.to), height: h - 2, fill: "url(#childfade)"}, g);
    } else if (!known) {
      node("rect", {x: 0, y, width: Math.max(1, right), height: h, rx: 2, fill: color, "fill-opacity": .35}, g);
    } else {
      if (hard0 - soft0 > .5 && hard0 > 0) {
        gradient(defs, "in" + i, color, [[0, 0], [1, 1]]);
        node("rect", {x: soft0, y, width: hard0 - soft0, height: h, fill: `url(#in${i})`}, g);
      }
      const a = Math.max(hard0, -2), z = Math.min(hard1, width + 2);
      if (z > a) node("rect", {x: a, y, width: Math.max(1, z - a), height: h, rx: soft0 < hard0 ? 0 : 2, fill: color}, g);
      if (soft1 > hard1 + .5) {
        gradient(defs, "out" + i, color, [[0, 1], [1, 0]]);
        node("rect", {x: hard1, y, width: soft1 - hard1, height: h, fill: `url(#out${i})`}, g);
      }
    }
    label(g, b, Math.max(hard0, 0), Math.min(Math.max(hard1, soft1), width), y, width);
    return g;
  }

  function label(g, b, left, right, y, width) {
    const room = right - left - 10, size = 6.9;
    let text = b.name;
    const time = b.took ? interval(b.took) : b.frame.so_far_ns ? "so far " + interval(b.frame.so_far_ns) : "";
    const full = text + (time ? "   " + time : "") + (b.share > 0 ? " (" + Math.round(100 * b.share) + " %)" : "");
    // What does not fit in a bar stands beside it, if there is room.
    let x = left + 5, outside = false;
    if (full.length * size <= room) text = full;
    else if (text.length * size > room) {
      if (room < 40 && right + text.length * size + 12 < width) { x = right + 6; outside = true; text = full.length * size + x < width ? full : text; }
      else if (room < 20) return;
      else text = text.slice(0, Math.max(1, Math.floor(room / size) - 1)) + "…";
    }
    const t = node("text", {x, y: y + 14.5, class: b.kind === "peak" && !outside ? "peak" : ""}, g);
    t.textContent = text;
    if (outside) t.style.fill = "var(--ink)";
  }

  // draw makes the picture of a spike.
  function draw(box, s, list, view, found) {
    const width = Math.max(200, box.clientWidth), height = AXIS + list.length * ROW + CLOCK + 8;
    const x = t => (t - view[0]) / (view[1] - view[0]) * width;
    const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, height});
    const defs = node("defs", {}, svg);
    const hatch = node("pattern", {id: "blind", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"}, defs);
    node("rect", {width: 2.4, height: 6, fill: "var(--blind)"}, hatch);
    gradient(defs, "childfade", "var(--peak)", [[0, .28], [1, 0]]);
    axis(svg, s, view, width, x, height - CLOCK);
    const limit = x(-s.threshold_ns);
    if (s.threshold_ns && limit > 0) {
      node("path", {d: `M${limit} ${AXIS - 4}V${height - CLOCK - 2}`, stroke: "var(--worse)", "stroke-dasharray": "3 3"}, svg);
    }
    list.forEach((b, i) => {
      const g = bar(svg, defs, b, i, AXIS + i * ROW, x, width);
      if (found && found(b.name)) g.classList.add("found");
    });
    clock(svg, s, list, x, height - CLOCK, width, height - CLOCK);
    node("path", {d: `M${x(0)} ${AXIS - 4}V${height - CLOCK}`, stroke: "var(--soft)"}, svg);
    const text = node("text", {x: Math.max(4, Math.min(x(0) + 4, width - 60)), y: height - 4, class: "known"}, svg);
    text.textContent = "clock";
    box.replaceChildren(svg);
  }
  // The calls around a spike: below the picture of its stack, and over the same time.
  const CALL = 17;

  // visible returns the calls that are seen in a part of time, and how deep they are.
  function visible(t, view) {
    const bars = t.bars.filter(b => b.z >= view[0] && b.a <= view[1]);
    return [bars, bars.reduce((depth, b) => Math.max(depth, b.d + 1), 1)];
  }

  // drawCalls makes the picture of the calls of a spike's window.
  function drawCalls(box, s, view, found) {
    const t = s.timeline, width = Math.max(200, box.clientWidth);
    const [bars, depth] = visible(t, view), height = AXIS + depth * CALL + 4;
    const x = time => (time - view[0]) / (view[1] - view[0]) * width;
    const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, height});
    axis(svg, s, view, width, x, height);
    // What was before the window is not known.
    const begin = Math.min(width, x(t.from));
    if (begin > 0) node("rect", {x: 0, y: AXIS - 4, width: begin, height: height - AXIS + 4, fill: "var(--panel)"}, svg);
    bars.forEach(b => {
      const left = Math.max(x(b.a), -2), right = Math.min(x(b.z), width + 2), y = AXIS + b.d * CALL;
      const g = node("g", {class: "call", "data-call": t.bars.indexOf(b)}, svg), name = t.names[b.n];
      if (found && found(name)) g.classList.add("found");
      node("rect", {x: left, y, width: Math.max(.6, right - left - .6), height: CALL - 1, rx: right - left > 6 ? 2 : 0, fill: `var(--c${s.hues[b.n]})`}, g);
      const room = Math.floor((right - Math.max(left, 0) - 8) / 6.6);
      if (room < 3) return;
      node("text", {x: Math.max(left, 0) + 4, y: y + 12.5}, g).textContent = name.length <= room ? name : name.slice(0, room - 1) + "…";
    });
    if (x(0) >= 0 && x(0) <= width) node("path", {d: `M${x(0)} ${AXIS - 4}V${height}`, stroke: "var(--soft)"}, svg);
    box.replaceChildren(svg);
  }

  // aboutCalls says what the picture of the calls shows.
  function aboutCalls(s) {
    const t = s.timeline;
    return `What led to it: ${t.calls.toLocaleString("en")} calls of the thread, from ${duration(-t.from)} before the end of the peak. ` +
      "Drawn are those that were running when the clock moved" + (t.step ? `, which was every ${duration(t.step)}` : "") + (t.left ? `, but for ${t.left.toLocaleString("en")} shorter ones.` : ".");
  }

  // when is a time before or after the end of the peak.
  function when(t) { return Math.abs(t) < 1 ? "0" : (t < 0 ? "-" : "+") + duration(Math.abs(t)); }

  return { bars: bars, span: span, draw: draw, drawCalls: drawCalls, aboutCalls: aboutCalls, interval: interval, duration: duration, when: when };
})();
