/* histogram.js draws how long the calls of a function took: a bar for each bucket of model.Histogram. */
cairn.histogram = (function () {
  const WIDTH = 720, HEIGHT = 120, FOOT = 18, LEAST = 3; // LEAST: pixels of a bar that is not empty

  /** low is the least time of a bucket. */
  function low(bucket) { return bucket < 4 ? bucket : (4 + bucket % 4) * Math.pow(2, Math.floor(bucket / 4) - 1); }

  /**
   * bars returns [from, to, calls] of each bar. Buckets in which the clock does not tell calls apart are one bar,
   * whose from is null.
   */
  function bars(h, step) {
    const list = [];
    h.counts.forEach(function (n, i) {
      const from = low(h.first + i), to = low(h.first + i + 1);
      if (!step || from >= 2 * step) list.push([from, to, n]);
      else if (list.length) list[0] = [null, to, list[0][2] + n];
      else list.push([null, to, n]);
    });
    return list;
  }

  /** draw returns the picture of the times of single calls. time is the model's Time, write writes times. */
  function draw(time, step, write) {
    const svg = cairn.svg, format = cairn.format, list = bars(time.histogram, step);
    const most = Math.max(...list.map(function (b) { return b[2]; })), known = list.reduce(function (a, b) { return a + b[2]; }, 0), wide = Math.min(40, WIDTH / list.length);
    const about = "Times of " + format.plural(known, "call") + ", from " + format.coarse(time.min, step, write) + " to " + format.coarse(time.max, step, write);
    const picture = svg("svg", { class: "histogram", viewBox: "0 0 " + WIDTH + " " + (HEIGHT + FOOT), role: "img", "aria-label": about });
    let room = 0; // where the next label may begin
    list.forEach(function (b, i) {
      const x = i * wide, h = b[2] ? Math.max(LEAST, HEIGHT * b[2] / most) : 0, name = b[0] === null ? "< " + write(b[1]) : write(b[0]);
      picture.append(svg("g", null, svg("title", null, format.plural(b[2], "call") + (b[0] === null ? " recorded as less than " + write(b[1]) : " of " + write(b[0]) + " to " + write(b[1]))),
        svg("rect", { class: "all", x: x.toFixed(1), y: 0, width: wide.toFixed(1), height: HEIGHT }),
        svg("rect", { class: "tower", x: (x + .5).toFixed(1), y: (HEIGHT - h).toFixed(1), width: Math.max(1, wide - 1).toFixed(1), height: h.toFixed(1) })));
      const size = name.length * 6.2;
      if (x < room || x + size > WIDTH) return;
      picture.append(svg("path", { d: "M" + (x + .5).toFixed(1) + " " + HEIGHT + "v5" }), svg("text", { x: x.toFixed(1), y: HEIGHT + 15 }, name));
      room = x + size + 16;
    });
    return cairn.el("figure", { class: "times", tabindex: "0", "aria-label": "How long calls took" }, picture, cairn.el("figcaption", { class: "soft" }, about + "; the tallest bar is " + format.plural(most, "call") + ". Times double every four bars." +
      (step ? " The clock tells times apart that differ by " + write(step) + "." : "") +
      (known < time.calls ? " Of " + format.plural(time.calls - known, "more call") + " the time is not known." : "")));
  }

  return { draw: draw, bars: bars };
})();
