/*
 * tiles.js reads the records of a time line: calls, events, and blocks of calls that are merged.
 * The documentation of package timeline has their format. A Rows object is the records of one
 * lane on one level, in the order of depth, then of time; those of a depth do not overlap.
 */
cairn.tiles = (function () {
  const BLOCK = 2, VERSION = 1, PACKED = 0x80;

  /** Reader reads numbers of at most 64 bits; those beyond 2^53 are rounded. */
  function Reader(buffer) {
    const bytes = new Uint8Array(buffer);
    let at = 0;
    return {
      byte() {
        if (at >= bytes.length) throw new Error("a tile is cut off");
        return bytes[at++];
      },
      number() {
        let v = 0, unit = 1;
        for (let i = 0; i < 10; i++) {
          const b = this.byte();
          v += (b & 0x7f) * unit;
          if (b < 0x80) return v;
          unit *= 128;
        }
        throw new Error("a number of a tile is too long");
      },
      signed() {
        const v = this.number();
        return v % 2 ? -(v + 1) / 2 : v / 2;
      },
      left() { return bytes.length - at; },
    };
  }

  /** read reads a tile or a pack into columns. */
  function read(buffer) {
    const r = Reader(buffer);
    if (r.byte() !== VERSION) throw new Error("a tile of another version of cairn");
    const level = r.byte();
    const t = { level: level & ~PACKED, pack: (level & PACKED) !== 0, start: r.number(), n: r.number() };
    if (t.n > r.left() / 4) throw new Error("a tile has fewer records than it says");
    for (const name of ["from", "to", "calls", "idle"]) t[name] = new Float64Array(t.n);
    t.fn = new Uint32Array(t.n);
    t.depth = new Uint16Array(t.n);
    for (const name of ["kind", "low", "high"]) t[name] = new Uint8Array(t.n);
    let depth = 0, end = t.start;
    for (let i = 0; i < t.n; i++) {
      const head = r.number();
      if (head >= 4) {
        depth += Math.floor(head / 4);
        end = t.start;
      }
      t.depth[i] = depth;
      t.kind[i] = head % 4;
      t.from[i] = end + r.signed();
      t.to[i] = t.from[i] + r.number();
      t.fn[i] = r.number();
      t.calls[i] = 1;
      if (t.kind[i] === BLOCK) {
        t.calls[i] = r.number();
        t.idle[i] = r.number();
      }
      t.low[i] = t.pack ? r.byte() : t.level;
      t.high[i] = t.pack ? r.byte() : t.level;
      end = t.to[i];
    }
    return t;
  }

  /** rowsOf returns the Rows of a tile, or of a level of a pack. */
  function rowsOf(tile, level) {
    let list = null, n = tile.n;
    if (tile.pack) {
      list = new Uint32Array(tile.n);
      n = 0;
      for (let i = 0; i < tile.n; i++) if (tile.low[i] <= level && tile.high[i] >= level) list[n++] = i;
      list = list.slice(0, n);
    }
    const deepest = n ? tile.depth[list ? list[n - 1] : n - 1] : 0;
    const first = new Uint32Array(deepest + 2); // of each depth
    for (let k = 0; k < n; k++) first[tile.depth[list ? list[k] : k] + 1]++;
    for (let d = 1; d < first.length; d++) first[d] += first[d - 1];
    return { tile: tile, list: list, first: first, depth: deepest, n: n };
  }

  /** index returns the number of record k of rows in its tile. */
  function index(rows, k) { return rows.list ? rows.list[k] : k; }

  /** seek returns the first record at a depth that ends after a time. */
  function seek(rows, depth, time) {
    let lo = rows.first[depth], hi = rows.first[depth + 1];
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (rows.tile.to[index(rows, mid)] > time) hi = mid;
      else lo = mid + 1;
    }
    return lo;
  }

  /** record is record i of a tile as an object. */
  function record(tile, i) {
    return {
      depth: tile.depth[i], from: tile.from[i], to: tile.to[i], fn: tile.fn[i], kind: tile.kind[i],
      calls: tile.calls[i], idle: tile.idle[i], block: tile.kind[i] === BLOCK,
    };
  }

  /** each calls f with the number in its tile of each record at a depth between two times. */
  function each(rows, depth, from, to, f) {
    if (depth > rows.depth) return;
    const end = rows.first[depth + 1];
    for (let k = seek(rows, depth, from); k < end; k++) {
      const i = index(rows, k);
      if (rows.tile.from[i] >= to) return;
      f(i);
    }
  }

  /**
   * Packs is the store of a page that is a file. A store's parts(lane, level, from, to) returns
   * [{rows, from, to}], what there is by now; changed is called when there is more.
   */
  function Packs(load, changed) {
    const packs = new Map(); // by lane: null while it is loaded
    return {
      parts(lane, level, from, to) {
        const p = packs.get(lane);
        if (p === undefined) {
          packs.set(lane, null);
          load("timeline/lane/" + lane + ".bin").then(function (data) {
            packs.set(lane, { tile: read(data), levels: new Map() });
            changed();
          }, function (e) { changed(e); });
        }
        if (!p) return [];
        if (!p.levels.has(level)) p.levels.set(level, rowsOf(p.tile, level));
        return [{ rows: p.levels.get(level), from: from, to: to }];
      },
      busy() { return [...packs.values()].includes(null); },
    };
  }

  /** Tiles is the store of a page that a server has. It keeps the tiles that were used last. */
  function Tiles(model, changed) {
    const KEEP = 600, AT_ONCE = 6;
    const tiles = new Map(); // by path, those used last at the end
    const waiting = [];
    let loading = 0;

    function size(level) { return Math.pow(2, level + 10); }

    function get(lane, level, number, wanted) {
      const path = "timeline/tile/" + lane + "/" + level + "/" + number + ".bin";
      const t = tiles.get(path);
      if (t) {
        tiles.delete(path);
        tiles.set(path, t);
        return t.rows;
      }
      if (wanted) {
        tiles.set(path, { rows: null });
        waiting.push(path);
        next();
      }
      return null;
    }

    function next() {
      while (loading < AT_ONCE && waiting.length) {
        const path = waiting.pop(); // what was asked for last is on the screen
        if (waiting.length > 60) tiles.delete(waiting.shift());
        loading++;
        fetch("/data/" + path).then(async function (answer) {
          if (!answer.ok) throw new Error(path + ": the server answers " + answer.status);
          const tile = read(await answer.arrayBuffer());
          tiles.set(path, { rows: rowsOf(tile, tile.level) });
          for (const old of tiles.keys()) {
            if (tiles.size <= KEEP) break;
            tiles.delete(old);
          }
          loading--;
          changed();
          next();
        }).catch(function (e) {
          loading--;
          tiles.delete(path);
          changed(e);
          next();
        });
      }
    }

    return {
      parts(lane, level, from, to) {
        const list = [];
        const width = size(level);
        const last = Math.floor(Math.min(to, model.end) / width);
        for (let n = Math.floor(from / width); n <= last; n++) {
          const part = { rows: get(lane, level, n, true), from: Math.max(from, n * width), to: Math.min(to, (n + 1) * width) };
          // Until it is there, what a coarser level has.
          for (let up = level + 1; !part.rows && up <= model.top; up++) part.rows = get(lane, up, Math.floor(part.from / size(up)), up === model.top);
          if (part.rows) list.push(part);
        }
        return list;
      },
      busy() { return loading > 0 || waiting.length > 0; },
    };
  }

  return { read: read, rowsOf: rowsOf, each: each, seek: seek, index: index, record: record, Packs: Packs, Tiles: Tiles, BLOCK: BLOCK };
})();
