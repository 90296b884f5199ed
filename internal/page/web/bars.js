/*
 * bars.js draws bars with labels on a canvas: those of the time line and of flame graphs. Bars
 * of one colour are drawn together, since changing the colour is what takes time.
 */
cairn.bars = (function () {
  const SHADES = 24, FONT = 11;
  const names = ["paper", "panel", "ink", "soft", "line", "line-strong", "accent", "accent-soft", "heat", "heat-soft", "mark", "mark-ink", "missed", "better", "worse", "bar-ink", "bar-dim", "bar-restored", "bar-inlined", "bar-kernel"];
  let colours = null;

  /** theme returns the colours of the page, by the names of their CSS variables. */
  function theme() {
    if (colours) return colours;
    const style = getComputedStyle(document.documentElement);
    colours = { shades: [] };
    for (const name of names) colours[name] = style.getPropertyValue("--" + name).trim();
    for (let i = 0; i < SHADES; i++) colours.shades.push(style.getPropertyValue("--c" + i).trim());
    colours.sans = style.getPropertyValue("--sans").trim();
    return colours;
  }
  document.addEventListener("cairn-theme", function () { colours = null; });

  /** fit makes a canvas as sharp as the screen. It returns its context, in CSS pixels. */
  function fit(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
    }
    const g = canvas.getContext("2d", { alpha: false });
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    return g;
  }

  const widths = new Map(); // of characters
  function widthOf(g, text) {
    let sum = 0;
    for (const c of text) {
      let w = widths.get(c);
      if (w === undefined) {
        w = g.measureText(c).width;
        if (widths.size < 5000) widths.set(c, w);
      }
      sum += w;
    }
    return sum;
  }

  /** cut returns as much of a text as fits, with an ellipsis, or "" if that says nothing. */
  function cut(g, text, room) {
    if (room < 14) return "";
    if (text.length * 3 < room && widthOf(g, text) <= room) return text;
    let sum = widthOf(g, "…"), end = 0, all = 0;
    for (const c of text) {
      const w = widthOf(g, c);
      all += w;
      if (sum + w <= room) {
        sum += w;
        end += c.length;
      } else if (all > room) {
        return end < 2 ? "" : text.slice(0, end) + "…";
      }
    }
    return all <= room ? text : end < 2 ? "" : text.slice(0, end) + "…";
  }

  /** Batch collects bars and draws them. Coordinates are CSS pixels. */
  function Batch(g) {
    const c = theme();
    const ratio = window.devicePixelRatio || 1;
    const fills = new Map();
    const labels = [], strokes = [], maybe = [], pale = [];
    const snap = function (v) { return Math.round(v * ratio) / ratio; };
    return {
      /** bar adds a bar; text may be null. Ink is the colour of the text. */
      bar(x, y, w, h, fill, text, ink, left) {
        const x0 = snap(x), x1 = Math.max(x0 + 1 / ratio, snap(x + w) - (w > 3 ? 1 / ratio : 0));
        let list = fills.get(fill);
        if (!list) fills.set(fill, list = []);
        list.push(x0, y, x1 - x0, h);
        if (text && w >= 20) labels.push([text, Math.max(x0, left || 0) + 3, y + h / 2, x1, ink || c["bar-ink"]]);
      },
      /** maybe adds a place below all bars in which a call may have gone on. */
      maybe(x, y, w, h, text, ink) {
        maybe.push(snap(x), y, Math.max(1 / ratio, snap(w)), h);
        if (text && w >= 20) labels.push([text, x + 3, y + h / 2, x + w, ink]);
      },
      /** pale adds a place of a bar in which the call may not have begun. */
      pale(x, y, w, h) { pale.push(snap(x), y, snap(w), h); },
      /** frame adds a border. */
      frame(x, y, w, h, colour) { strokes.push([snap(x), y, Math.max(snap(w), 2 / ratio), h, colour]); },
      draw() {
        let count = 0;
        const all = function (list) { for (let i = 0; i < list.length; i += 4) g.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]); };
        g.fillStyle = c["bar-dim"];
        all(maybe);
        for (const [fill, list] of fills) {
          g.fillStyle = fill;
          all(list);
          count += list.length / 4;
        }
        g.fillStyle = c.paper;
        g.globalAlpha = 0.55;
        all(pale);
        g.globalAlpha = 1;
        g.font = FONT + "px " + c.sans;
        g.textBaseline = "middle";
        let ink = "";
        for (const [text, x, y, end, colour] of labels) {
          const shown = cut(g, text, end - x - 3);
          if (!shown) continue;
          if (ink !== colour) g.fillStyle = ink = colour;
          g.fillText(shown, x, y);
        }
        for (const [x, y, w, h, colour] of strokes) {
          g.strokeStyle = colour;
          g.lineWidth = 1.5;
          g.strokeRect(x + 0.75, y + 0.75, Math.max(0.5, w - 1.5), h - 1.5);
        }
        return count;
      },
    };
  }

  /** steps returns a round step of an axis, at least so much. */
  function step(least) {
    const unit = Math.pow(10, Math.floor(Math.log10(Math.max(least, 1e-9))));
    for (const k of [1, 2, 5]) if (k * unit >= least) return Math.max(1, k * unit);
    return Math.max(1, 10 * unit);
  }

  /**
   * time writes a time of an axis whose marks are so far apart: with as many digits as tell them
   * apart and no more.
   */
  function time(ns, apart, unit) {
    if (unit !== "ns") return cairn.format.count(ns);
    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    const size = Math.max(Math.abs(ns), apart);
    const [scale, name] = units.find(function (u) { return size >= u[0]; }) || units[3];
    const digits = Math.max(0, Math.ceil(Math.log10(scale / apart) - 1e-9));
    return (ns / scale).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }) + "\u202f" + name;
  }

  return { theme: theme, fit: fit, cut: cut, Batch: Batch, step: step, time: time };
})();
