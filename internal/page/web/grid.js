/*
 * grid.js is a table of any number of rows, of which only those on the screen are elements.
 *
 *   const grid = cairn.grid({
 *     label: "Functions",
 *     columns: [{id, title, help, num, width, value(row), cell(row), first: "desc"}],
 *     sort: {id, desc}, onSort(sort), onOpen(row), onMore(row)
 *   });
 *   root.append(grid.element); grid.setRows(rows);
 *
 * width is a track of a CSS grid whose first number is its least width in px. value is what rows are sorted by: numbers or strings;
 * undefined comes last. Rows with the same value are in the order of the first column.
 */
cairn.grid = function (options) {
  const height = 28, over = 12;
  let rows = [], sort = options.sort, current = 0, drawn = null;
  const template = options.columns.map(function (c) { return c.width; }).join(" ");
  // Rows are grids of their own: their columns agree because all have one width, which is that of
  // the table or, where that is smaller, the sum of the least widths of the columns.
  const least = options.columns.reduce(function (sum, c) { return sum + parseFloat(/[\d.]+px/.exec(c.width)[0]); }, 0);
  const body = cairn.el("div", { class: "grid-body", role: "presentation" });
  const head = cairn.el("div", { class: "grid-row grid-head", role: "row", "aria-rowindex": "1", style: { "grid-template-columns": template } });
  const scroll = cairn.el("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": options.label, onscroll: draw, onkeydown: keydown }, head, body);
  scroll.style.setProperty("--least", least + "px");

  function drawHead() {
    head.replaceChildren(...options.columns.map(function (c) {
      const is = sort && sort.id === c.id;
      return cairn.el("div", { role: "columnheader", class: c.num ? "num" : "", "aria-sort": is ? (sort.desc ? "descending" : "ascending") : "none" },
        cairn.el("button", { type: "button", title: c.help || "Sort by " + c.title, tabindex: "-1", onclick: function () { sortBy(c); } },
          c.title, cairn.el("span", { class: "arrow", "aria-hidden": "true" }, is ? (sort.desc ? "↓" : "↑") : "")));
    }));
  }

  function sortBy(c) {
    sort = { id: c.id, desc: sort && sort.id === c.id ? !sort.desc : Boolean(c.num) };
    if (options.onSort) options.onSort(sort);
    order();
  }

  function order() {
    const c = options.columns.find(function (c) { return sort && c.id === sort.id; });
    if (c) {
      const first = options.columns[0];
      const keyed = rows.map(function (row, i) { return { row: row, i: i, key: c.value(row), name: first.value(row) }; });
      const sign = sort.desc ? -1 : 1;
      keyed.sort(function (a, b) {
        const none = (a.key === undefined) - (b.key === undefined);
        if (none) return none;
        if (a.key === b.key || a.key === undefined) return a.name === b.name ? a.i - b.i : a.name < b.name ? -1 : 1;
        return (a.key < b.key ? -1 : 1) * sign;
      });
      rows = keyed.map(function (k) { return k.row; });
    }
    drawHead();
    drawn = null;
    draw();
  }

  function draw() {
    const from = Math.max(0, Math.floor(scroll.scrollTop / height) - over);
    const to = Math.min(rows.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / height) + over);
    if (drawn && drawn[0] === from && drawn[1] === to && drawn[2] === current) return;
    drawn = [from, to, current];
    body.style.height = rows.length * height + "px";
    const list = [];
    for (let i = from; i < to; i++) {
      const row = rows[i];
      list.push(cairn.el("div", {
        class: "grid-row" + (i === current ? " current" : ""), role: "row", "aria-rowindex": String(i + 2), "aria-selected": String(i === current),
        style: { top: i * height + "px", "grid-template-columns": template },
        onclick: function (e) { if (!e.target.closest("a")) { current = i; draw(); } },
        ondblclick: function () { options.onOpen(row); },
      }, options.columns.map(function (c) { return cairn.el("div", { role: "gridcell", class: c.num ? "num" : "" }, c.cell(row)); })));
    }
    body.replaceChildren(...list);
  }

  function move(to) {
    current = Math.max(0, Math.min(rows.length - 1, to));
    const top = current * height, view = scroll.clientHeight - head.offsetHeight;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (top + height > scroll.scrollTop + view) scroll.scrollTop = top + height - view;
    draw();
  }

  function keydown(e) {
    const page = Math.max(1, Math.floor(scroll.clientHeight / height) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key in steps) move(current + steps[e.key]);
    else if (e.key === "Home") move(0);
    else if (e.key === "End") move(rows.length - 1);
    else if (e.key === "Enter" && rows[current] && e.target === scroll) options.onOpen(rows[current]);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  const resized = new ResizeObserver(function () {
    drawn = null;
    draw();
  });
  resized.observe(scroll);

  return {
    element: scroll,
    setRows: function (list) {
      rows = list;
      current = 0;
      scroll.scrollTop = 0;
      scroll.setAttribute("aria-rowcount", String(list.length + 1));
      order();
    },
    setSort: function (s) { sort = s; },
    move: function (by) { move(current + by); },
    open: function () { if (rows[current]) options.onOpen(rows[current]); },
    destroy: function () { resized.disconnect(); },
  };
};
