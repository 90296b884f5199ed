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
