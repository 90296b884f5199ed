/*
 * lanes.js lays out and draws the lanes of the time line: of each thread a head, its events, its
 * spikes, and a row for each depth of its calls. view is {from, to, width}: times and CSS pixels.
 */
cairn.lanes = (function () {
  const HEAD = 20, ROW = 17, EVENTS = 12, SPIKES = 14, MOST_SPIKES = 4, CLOSED = 6, GAP = 6;

  /** layout returns the lanes with their tops and heights. */
  function layout(model, closed) {
    const spikes = new Map();
    for (const s of model.spikes || []) {
      const key = s.pid + "/" + s.tid;
      if (!spikes.has(key)) spikes.set(key, []);
      spikes.get(key).push(s);
    }
    let top = 0;
    const lanes = model.lanes.map(function (l, i) {
      const x = { index: i, of: l, top: top, closed: closed.has(i), spikes: l.stack ? [] : spikes.get(l.pid + "/" + l.tid) || spikes.get("0/" + l.tid) || [] };
      x.events = l.events ? top + HEAD : -1;
      x.spikeTop = top + HEAD + (l.events ? EVENTS : 0);
      x.spikeRows = stack(x.spikes);
      x.rows = x.spikeTop + x.spikeRows * SPIKES;
      x.height = x.rows - top + (x.closed ? CLOSED : Math.max(1, l.depth) * ROW) + GAP;
      top += x.height;
      return x;
    });
    lanes.height = top;
    return lanes;
  }

  /** stack gives spikes that overlap rows of their own, the longest above. It returns how many rows. */
  function stack(spikes) {
    const ends = [];
    for (const s of spikes.slice().sort(function (a, b) { return a.start - b.start || b.end - a.end; })) {
      let row = ends.findIndex(function (end) { return end <= s.start; });
      if (row < 0) row = Math.min(ends.length, MOST_SPIKES - 1);
      ends[row] = Math.max(ends[row] || 0, s.end);
      s.row = row;
    }
    return ends.length;
  }

  /** levelOf is the level whose cells are a pixel at most. */
  function levelOf(model, view) {
    const pixel = (view.to - view.from) / view.width / (window.devicePixelRatio || 1);
    return Math.max(model.level, Math.min(model.top, Math.floor(Math.log2(Math.max(1, pixel)))));
  }

  /** visible yields the lanes that are seen when scrolled so far. */
  function visible(lanes, scroll, height) {
    let lo = 0, hi = lanes.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (lanes[mid].top + lanes[mid].height > scroll) hi = mid;
      else lo = mid + 1;
    }
    const list = [];
    for (let i = lo; i < lanes.length && lanes[i].top < scroll + height; i++) list.push(lanes[i]);
    return list;
  }

  /**
   * draw draws what is seen. look is {match: Set of functions or null, chosen, selection, range}.
   * It returns the number of bars.
   */
  function draw(g, model, store, lanes, view, scroll, height, look) {
    const c = cairn.bars.theme();
    const scale = view.width / (view.to - view.from);
    g.fillStyle = c.paper;
    g.fillRect(0, 0, view.width, height);
    const level = levelOf(model, view);
    const batch = cairn.bars.Batch(g);
    const seen = visible(lanes, scroll, height);
    grid(g, c, view, height);
    for (const lane of seen) {
      g.fillStyle = c.panel;
      g.fillRect(0, lane.top - scroll, view.width, HEAD);
    }
    for (const lane of seen) {
      lane.parts = store.parts(lane.index, level, view.from, view.to);
      calls(batch, c, model, lane, view, scale, scroll, height, look);
      for (const s of lane.spikes) spike(batch, c, s, lane, view, scale, scroll, look);
    }
    const count = batch.draw();
    if (look.selection) shade(g, c, view, scale, look.selection, height);
    return count;
  }

  function grid(g, c, view, height) {
    const step = cairn.bars.step((view.to - view.from) / view.width * 90);
    g.fillStyle = c.line;
    const scale = view.width / (view.to - view.from);
    for (let t = Math.ceil(view.from / step) * step; t < view.to; t += step) g.fillRect(Math.round((t - view.from) * scale), 0, 1, height);
  }

  function calls(batch, c, model, lane, view, scale, scroll, height, look) {
    const before = new Map(); // the last call of each depth in the part before, which may reach into the next
    for (const part of lane.parts) {
      const tile = part.rows.tile;
      for (let depth = 0; depth <= part.rows.depth; depth++) {
        if (depth > 1 && lane.closed) break;
        const y = (depth === 0 ? lane.events : lane.rows + (lane.closed ? 0 : (depth - 1) * ROW)) - scroll;
        const h = depth === 0 ? EVENTS - 3 : lane.closed ? CLOSED : ROW - 1;
        if (y + h < 0 || y > height || depth === 0 && lane.events < 0) continue;
        let last = -1, drawn = -1; // right end of the last bar
        let named = -Infinity; // right end of the last name in a place where it is not known what ran
        cairn.tiles.each(part.rows, depth, part.from, part.to, function (i) {
          drawn = i;
          if (tile.from[i] < part.from && before.has(depth) && same(before.get(depth), tile, i)) return;
          const x0 = (Math.max(tile.from[i], view.from) - view.from) * scale;
          const x1 = (Math.min(tile.to[i], view.to) - view.from) * scale;
          if (depth === 0) {
            batch.bar(Math.max(0, x0 - 1), y + 1, Math.max(2.5, x1 - x0), h, dim(look, tile.fn[i]) ? c["bar-dim"] : c.accent, null);
            return;
          }
          if (x1 - last < 0.75 && !look.match) return;
          last = x1 > x0 + 1 ? x1 : Math.max(x1, x0 + 0.5);
          bar(batch, c, model, tile, i, x0, y, x1 - x0, h, look, lane);
          if (lane.of.step * scale >= 3 && tile.kind[i] !== cairn.tiles.BLOCK) named = vague(batch, c, model, tile, i, view, scale, y, h, lane.of.step, named);
        });
        if (drawn >= 0) before.set(depth, { from: tile.from[drawn], to: tile.to[drawn] });
        else before.delete(depth);
      }
    }
  }

  function same(r, tile, i) { return r.from === tile.from[i] && r.to === tile.to[i]; }

  function dim(look, fn) { return look.match !== null && !look.match.has(fn); }

  function bar(batch, c, model, tile, i, x, y, w, h, look, lane) {
    const fn = tile.fn[i];
    const off = dim(look, fn);
    const fill = off ? c["bar-dim"] : look.match ? c.mark : c.shades[model.shades[fn]];
    const block = tile.kind[i] === cairn.tiles.BLOCK;
    let text = null;
    if (w >= 20 && h > 10) text = block ? cairn.format.short(tile.calls[i]) + " calls, mostly " + model.names[fn] : model.names[fn];
    batch.bar(x, y, w, block && h > 10 ? h - 4 : h, fill, text, off ? c.soft : look.match ? c["mark-ink"] : c["bar-ink"], 0);
    const s = look.chosen;
    if (s && s.lane === lane.index && s.depth === tile.depth[i] && s.from === tile.from[i] && s.to === tile.to[i]) batch.frame(x, y, Math.max(w, 2), h, c.ink);
  }

  /** vague draws what is not known of a call: it began and ended less than a step of the clock after its times. */
  function vague(batch, c, model, tile, i, view, scale, y, h, step, named) {
    const at = function (t) { return (t - view.from) * scale; };
    const from = at(tile.from[i]), to = at(tile.to[i]), wide = step * scale;
    const name = to - from < 20 && to >= named;
    batch.maybe(to, y, wide, h, name ? model.names[tile.fn[i]] : null, c.soft);
    if (to > from) batch.pale(from, y, Math.min(wide, to - from), h);
    return name || to - from >= 20 ? to + wide : named;
  }

  function spike(batch, c, s, lane, view, scale, scroll, look) {
    if (s.start >= view.to || s.end <= view.from) return;
    const x = (s.start - view.from) * scale, w = Math.max(3, (s.end - s.start) * scale);
    batch.bar(Math.max(x, -2), lane.spikeTop + s.row * SPIKES - scroll + 1, Math.min(w, view.width - Math.max(x, -2) + 4), SPIKES - 3, c.heat, s.peak.function, "#1a1e24", 0);
    if (look.spike === s) batch.frame(x, lane.spikeTop + s.row * SPIKES - scroll, w, SPIKES - 1, c.ink);
  }

  function shade(g, c, view, scale, range, height) {
    const a = Math.max(0, (range.from - view.from) * scale), z = Math.min(view.width, (range.to - view.from) * scale);
    g.fillStyle = c.ink;
    g.globalAlpha = 0.09;
    g.fillRect(0, 0, a, height);
    g.fillRect(z, 0, view.width - z, height);
    g.globalAlpha = 1;
    g.fillStyle = c.accent;
    if (a > 0) g.fillRect(a - 1, 0, 1.5, height);
    if (z < view.width) g.fillRect(z, 0, 1.5, height);
  }

  /** hit returns what is at a place: {lane, record} or {lane, spike}. */
  function hit(lanes, view, x, y) {
    const lane = lanes.find(function (l) { return y >= l.top && y < l.top + l.height; });
    if (!lane) return null;
    const time = view.from + x * (view.to - view.from) / view.width;
    const slack = 2 * (view.to - view.from) / view.width;
    if (lane.spikes.length && y >= lane.spikeTop && y < lane.rows) {
      const row = Math.floor((y - lane.spikeTop) / SPIKES);
      const s = lane.spikes.find(function (s) { return s.row === row && s.start - slack <= time && s.end + slack >= time; });
      return s ? { lane: lane, spike: s } : { lane: lane };
    }
    let depth = lane.closed ? 1 : Math.floor((y - lane.rows) / ROW) + 1;
    if (lane.events >= 0 && y >= lane.events && y < lane.events + EVENTS) depth = 0;
    if (depth < 0 || y >= lane.top && y < lane.top + HEAD) return { lane: lane };
    return { lane: lane, record: find(lane, depth, time, depth ? slack / 2 : slack * 2) };
  }

  /** find returns the record of a lane at a depth and a time, or near it. */
  function find(lane, depth, time, slack) {
    let best = null, off = Infinity;
    for (const part of lane.parts || []) {
      cairn.tiles.each(part.rows, depth, Math.max(part.from, time - slack), time + slack, function (i) {
        const t = part.rows.tile;
        const away = t.from[i] > time ? t.from[i] - time : t.to[i] < time ? time - t.to[i] : 0;
        if (away <= slack && away < off) {
          off = away;
          best = Object.assign(cairn.tiles.record(t, i), { lane: lane.index, level: t.pack ? 0 : t.level });
        }
      });
    }
    return best;
  }

  /** step returns the record beside another: dir is left, right, up or down. */
  function step(lane, r, dir) {
    if (dir === "up") return r.depth > 1 ? find(lane, r.depth - 1, (r.from + r.to) / 2, 1) : null;
    let found = null;
    for (const part of lane.parts || []) {
      const t = part.rows.tile;
      const depth = dir === "down" ? r.depth + 1 : r.depth;
      cairn.tiles.each(part.rows, depth, part.from, part.to, function (i) {
        if (dir === "down" ? t.from[i] >= r.from && t.to[i] <= r.to && !found
          : dir === "right" ? t.from[i] >= r.to && !(t.from[i] === r.from) && !found
            : t.to[i] <= r.from && !(t.to[i] === r.to)) found = Object.assign(cairn.tiles.record(t, i), { lane: lane.index });
      });
    }
    return found;
  }

  /** axis draws the times above the lanes, the frames of the process and the spikes. */
  function axis(g, model, view, height, look) {
    const c = cairn.bars.theme();
    const scale = view.width / (view.to - view.from);
    g.fillStyle = c.paper;
    g.fillRect(0, 0, view.width, height);
    const step = cairn.bars.step((view.to - view.from) / view.width * 90);
    g.font = "11px " + c.sans;
    g.textBaseline = "middle";
    // Far from 0, marks count from the left end, which is written in full.
    const far = view.from > 1e5 * step;
    const base = far ? Math.ceil(view.from / step) * step : 0;
    for (let t = Math.ceil(view.from / step) * step; t < view.to; t += step) {
      const x = Math.round((t - view.from) * scale);
      g.fillStyle = c["line-strong"];
      g.fillRect(x, 14, 1, 8);
      g.fillStyle = c.soft;
      const text = t === base ? cairn.bars.time(t, step, model.unit) : (far ? "+" : "") + cairn.bars.time(t - base, step, model.unit);
      if (x + 4 + g.measureText(text).width < view.width) g.fillText(text, x + 4, 11);
    }
    let y = 24;
    for (const f of model.frames || []) {
      frames(g, c, f, view, scale, y);
      y += 26;
    }
    const w = 2;
    g.fillStyle = c.heat;
    for (const s of model.spikes || []) if (s.end >= view.from && s.start <= view.to) g.fillRect((s.end - view.from) * scale - w, 0, w, 5);
    if (look.selection) shade(g, c, view, scale, look.selection, height);
  }

  /** frames draws a strip: bars of groups of frames, as high as the longest, and the longest ones. */
  function frames(g, c, f, view, scale, y) {
    const height = 24, n = f.bars.length;
    if (!n || !f.worst) return;
    // The recorder counts frames, not times, so groups are spread evenly up to the last.
    const begin = Math.max(0, f.end - f.count * f.mean), each = (f.end - begin) / n;
    for (let i = 0; i < n; i++) {
      const x = (begin + i * each - view.from) * scale, w = Math.max(1, each * scale - 0.5);
      if (x + w < 0 || x > view.width) continue;
      const h = Math.max(1, height * f.bars[i] / f.worst);
      g.fillStyle = c["bar-dim"];
      g.fillRect(x, y + height - h, w, h);
    }
    // Of the longest ones the times are known.
    for (const x of f.frame) {
      if (x.end < view.from || x.start > view.to) continue;
      const took = x.end - x.start, h = Math.max(2, height * took / f.worst);
      g.fillStyle = took > f.budget ? c.heat : c.shades[15];
      g.fillRect((x.start - view.from) * scale, y + height - h, Math.max(2, (x.end - x.start) * scale - 1), h);
    }
    const limit = y + height - height * Math.min(1, f.budget / f.worst);
    g.fillStyle = c.soft;
    g.fillRect(0, limit, view.width, 1);
    const text = "frames: " + cairn.format.count(f.over) + " of " + cairn.format.count(f.count) + " over " + cairn.format.duration(f.budget);
    g.fillStyle = c.paper;
    g.globalAlpha = 0.8;
    g.fillRect(2, y + 1, g.measureText(text).width + 8, 14);
    g.globalAlpha = 1;
    g.fillStyle = c.ink;
    g.fillText(text, 6, y + 8);
  }

  /** frameAt returns the long frame at a place of the axis. */
  function frameAt(model, view, x, y) {
    const f = (model.frames || [])[Math.floor((y - 24) / 26)];
    const time = view.from + x * (view.to - view.from) / view.width;
    return f && f.frame.find(function (k) { return k.start <= time && k.end > time; });
  }

  /** busy returns for each column of the map which share of the threads is in a call. */
  function busy(model, store, lanes, width) {
    const end = Math.max(1, model.end);
    const columns = new Float64Array(Math.ceil(width) + 1);
    const scale = width / end;
    const level = Math.max(model.level, Math.min(model.top, Math.floor(Math.log2(Math.max(1, end / width)))));
    const most = lanes.slice(0, 64);
    for (const lane of most) {
      for (const part of store.parts(lane.index, level, 0, end)) {
        const t = part.rows.tile;
        cairn.tiles.each(part.rows, 1, part.from, part.to, function (i) {
          const a = Math.max(t.from[i], part.from) * scale, z = Math.max(a + 0.01, Math.min(t.to[i], part.to) * scale);
          const share = (1 - t.idle[i] / Math.max(1, t.to[i] - t.from[i])) / most.length;
          for (let x = Math.floor(a); x <= z && x < columns.length; x++) columns[x] += Math.max(0, Math.min(z, x + 1) - Math.max(a, x)) * share;
        });
      }
    }
    return columns;
  }

  /** map draws the whole run: how busy the threads are, spikes, and the part that is seen. */
  function map(g, model, columns, view, height) {
    const c = cairn.bars.theme();
    g.fillStyle = c.panel;
    g.fillRect(0, 0, view.width, height);
    const scale = view.width / Math.max(1, model.end);
    g.fillStyle = c.shades[11];
    for (let x = 0; x < columns.length; x++) {
      const h = Math.min(1, columns[x]) * (height - 6);
      if (h > 0) g.fillRect(x, height - Math.max(1, h), 1, h + 1);
    }
    g.fillStyle = c.heat;
    for (const s of model.spikes || []) g.fillRect(s.end * scale - 1, 0, 2, 5);
    const a = view.from * scale, z = Math.max(a + 2, view.to * scale);
    g.fillStyle = c.ink;
    g.globalAlpha = 0.18;
    g.fillRect(0, 0, a, height);
    g.fillRect(z, 0, view.width - z, height);
    g.globalAlpha = 1;
    g.strokeStyle = c.accent;
    g.strokeRect(a + 0.5, 0.5, Math.max(2, z - a - 1), height - 1);
  }

  return { layout: layout, draw: draw, hit: hit, find: find, step: step, frameAt: frameAt, axis: axis, busy: busy, map: map, visible: visible, levelOf: levelOf, HEAD: HEAD, ROW: ROW };
})();
