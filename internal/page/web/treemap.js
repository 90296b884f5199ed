/* treemap.js draws the code of a program: a box for each function, as large as its code, by source file. */
cairn.treemap = (function () {
  const WIDTH = 720, HEIGHT = 300, HEAD = 15;
  /** MOST functions have boxes of their own; the others of a file share one. */
  const MOST = 1500;

  /**
   * squarify lays out items, which have a value above 0 and are sorted by it, the largest first, in a box [x, y, w, h],
   * so that their boxes are as square as possible. It follows Bruls, Huizing and van Wijk, Squarified Treemaps (2000).
   */
  function squarify(items, box) {
    const placed = [];
    let [x, y, w, h] = box, left = items.reduce(function (a, i) { return a + i.value; }, 0), at = 0;
    while (at < items.length && w > 0 && h > 0) {
      const side = Math.min(w, h), scale = w * h / left;
      let row = 0, n = 0, worst = Infinity;
      while (at + n < items.length) {
        const sum = row + items[at + n].value * scale;
        const next = Math.max(side * side * items[at].value * scale / (sum * sum), sum * sum / (side * side * items[at + n].value * scale));
        if (next > worst) break;
        worst = next;
        row = sum;
        n++;
      }
      const thick = row / side;
      let along = 0;
      for (const item of items.slice(at, at + n)) {
        const long = item.value * scale / thick;
        placed.push([item, w >= h ? [x, y + along, thick, long] : [x + along, y, long, thick]]);
        along += long;
        left -= item.value;
      }
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
      at += n;
    }
    return placed;
  }

  /** files returns the files of a model with their functions, the largest first, of each function one copy. */
  function files(model) {
    const boxes = cairn.distinct(model).filter(function (d) { return d.f.size; }).map(function (d) { return { f: d.f, value: d.f.size, ran: d.ran }; }).sort(function (a, b) { return b.value - a.value; });
    const list = new Map();
    boxes.forEach(function (b, i) {
      const key = b.f.file === undefined ? -1 : b.f.file;
      if (!list.has(key)) list.set(key, { name: key < 0 ? "" : cairn.format.base(model.files[key].path), value: 0, ran: 0, boxes: [], rest: null });
      const file = list.get(key);
      file.value += b.value;
      if (b.ran) file.ran += b.value;
      if (i < MOST) file.boxes.push(b);
      else {
        if (!file.rest) file.boxes.push(file.rest = { value: 0, ran: false, n: 0, ranSize: 0 });
        file.rest.value += b.value;
        file.rest.n++;
        if (b.ran) file.rest.ranSize += b.value;
      }
    });
    for (const file of list.values()) {
      if (file.rest) file.rest.share = file.rest.ranSize / file.rest.value;
      file.boxes.sort(function (a, b) { return b.value - a.value; });
    }
    return [...list.values()].sort(function (a, b) { return b.value - a.value; });
  }

  /** fits returns as much of a name as has room in a width. */
  function fits(name, width) {
    const room = Math.floor((width - 6) / 6.1);
    return name.length <= room ? name : room < 6 ? "" : name.slice(0, room - 1) + "…";
  }

  function boxOf(b, at, open) {
    const svg = cairn.svg, format = cairn.format, [x, y, w, h] = at;
    const name = b.f ? b.f.name || b.f.symbol : format.plural(b.n, "smaller function");
    const state = b.f ? b.ran ? "ran" : "did not run" : format.percent(b.ranSize, b.value) + " of their code ran";
    const g = svg("g", { class: b.f ? b.ran ? "ran" : "missed" : "rest" },
      svg("title", null, name + ": " + format.bytes(b.value) + ", " + state + (b.ran && b.f.calls ? ", " + (b.f.at_least ? "≥ " : "") + format.plural(b.f.calls, "call") : "")),
      svg("rect", { x: x.toFixed(1), y: y.toFixed(1), width: Math.max(0, w - 1).toFixed(1), height: Math.max(0, h - 1).toFixed(1) }));
    if (h > 14 && w > 26) g.append(svg("text", { x: (x + 3).toFixed(1), y: (y + 11).toFixed(1) }, fits(name, w)));
    if (b.f) g.addEventListener("click", function () { open(b.f); });
    return g;
  }

  /** draw returns the picture with its caption, null if nothing is known of the size of functions. open is called for a box. */
  function draw(model, open) {
    const list = files(model), all = list.reduce(function (a, f) { return a + f.value; }, 0);
    if (!all) return null;
    const ran = list.reduce(function (a, f) { return a + f.ran; }, 0), format = cairn.format;
    const about = format.percent(ran, all) + " of " + format.bytes(all) + " of code is in functions that ran";
    const picture = cairn.svg("svg", { viewBox: "0 0 " + WIDTH + " " + HEIGHT, role: "img", "aria-label": about });
    for (const [file, [x, y, w, h]] of squarify(list, [0, 0, WIDTH, HEIGHT])) {
      const head = h > 3 * HEAD && w > 40 ? HEAD : 0;
      if (head) picture.append(cairn.svg("text", { class: "file", x: (x + 2).toFixed(1), y: (y + 11).toFixed(1) }, fits(file.name, w)));
      for (const [b, at] of squarify(file.boxes, [x, y + head, w - 2, h - head - 2])) picture.append(boxOf(b, at, open));
    }
    return cairn.el("figure", { class: "treemap" }, picture,
      cairn.el("figcaption", null, about + ". ", cairn.el("i", { class: "ran" }), " ran, ", cairn.el("i", { class: "missed" }), " did not. Each box is a function with probes, as large as its code."));
  }

  return { draw: draw, squarify: squarify };
})();
