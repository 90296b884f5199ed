/*
 * samples.js shows sampled stacks as a flame graph or, with as=list in its route, as a list, with the frames that were
 * restored.
 */
(function () {
  const el = cairn.el, format = cairn.format;

  function frame(model, f) {
    return el("span", { class: "frame" + (f.restored ? " restored" : "") + (f.inlined ? " inl" : ""), title: f.restored ? "restored: a tail call had removed this frame from the stack" : null },
      cairn.functionLink(model, f.function), f.restored ? el("span", { class: "unseen" }, " (restored)") : null);
  }

  /** asList reports whether a route is one of the list: a search is one of stacks. */
  function asList(route) { return route.as === "list" || Boolean(route.q || route.only); }

  /** modes is the choice between the graph and the list. */
  function modes(ctx, as) {
    return cairn.segmented("Stacks", [["", "Flame graph"], ["list", "List"]], as, function (v) { ctx.go({ view: "samples", as: v }); });
  }

  /** graph mounts the flame graph. What is chosen in it goes to the view of flame graphs. */
  function graph(root, ctx) {
    const inner = el("div", { class: "graph-of-samples" });
    root.append(el("div", { class: "toolbar" }, modes(ctx, "")), inner);
    const mounted = cairn.flame(inner, Object.assign(Object.create(ctx), { route: { view: "flame", what: "samples" } }));
    return { update() {}, destroy() { mounted.destroy(); } };
  }

  function list(root, ctx) {
    const model = ctx.model, s = model.samples, x = cairn.index(model), most = 150;
    const top = model.functions.filter(function (f) { return f.samples && f.samples.self; }).sort(function (a, b) { return b.samples.self - a.samples.self; });
    const heaviest = top.length ? top[0].samples.self : 1;
    const list = el("ol", { class: "plain stacks" });
    const tally = el("p", { class: "tally", role: "status" });
    const choice = el("div");
    let route = ctx.route;
    const search = cairn.searchField("Stacks with a function, or /regular expression/", route.q, cairn.debounce(function (q) { ctx.go(Object.assign({}, route, { q: q }), { replace: true }); }, 120));
    root.append(
      el("div", { class: "toolbar" }, el("h1", null, "Samples"), modes(ctx, "list"), search, choice, tally),
      el("p", { class: "legend" }, el("span", null, format.plural(s.count, "sample")),
        s.restored ? el("span", null, el("span", { class: "frame restored" }, "f"), "restored: tail calls had removed this frame, in " + format.percent(s.restored, s.count) + " of the samples") : el("span", null, "no frame was missing")),
      el("div", { class: "columns" }, list,
        el("aside", null, el("h2", null, cairn.link({ view: "functions", only: "sampled", sort: "sampled-" }, "Functions by samples")), el("ol", { class: "top" }, top.slice(0, 25).map(function (f) {
          return el("li", null, cairn.functionLink(model, f.id), el("span", { class: "weight" }, el("i", { style: { width: 100 * f.samples.self / heaviest + "%" } })), el("span", { class: "num" }, format.percent(f.samples.self, s.count)));
        })))));
    function update(next) {
      route = next;
      const withRestored = route.only === "restored";
      choice.replaceChildren(s.restored ? cairn.segmented("Which", [["", "All"], ["restored", "With restored frames"]], route.only || "", function (v) { ctx.go(Object.assign({}, route, { only: v }), { replace: true }); }) : "");
      let test;
      search.removeAttribute("aria-invalid");
      try {
        test = cairn.matcher(route.q || "");
      } catch (e) {
        search.setAttribute("aria-invalid", "true");
        tally.textContent = e.message;
        return;
      }
      const rows = s.stacks.filter(function (st) {
        return (!withRestored || st.frames.some(function (f) { return f.restored; })) && (!route.q || st.frames.some(function (f) { return test(x.full(f.function)); }));
      });
      tally.textContent = format.plural(rows.length, "stack") + (rows.length > most ? ", the heaviest " + most + " are shown" : "") + (s.left ? "; " + format.count(s.left) + " lighter ones are not in this report" : "");
      list.replaceChildren(...rows.slice(0, most).map(function (st) {
        return el("li", null, el("span", { class: "num" }, format.percent(st.count, s.count), el("small", null, format.count(st.count))),
          el("span", { class: "path" }, st.frames.map(function (f, i) { return [i ? el("span", { class: "sep", "aria-hidden": "true" }, "›") : null, frame(model, f)]; })));
      }));
    }
    update(route);
    return { update: update, destroy() {} };
  }

  cairn.view({
    id: "samples", title: "Samples", key: "m", order: 70,
    available(model) { return Boolean(model.samples); },
    mount(root, ctx) {
      let mounted = null, listed = null;
      function update(route) {
        const wanted = asList(route) || !ctx.model.samples.stacks.length;
        if (wanted === listed) return mounted.update(route);
        if (mounted) mounted.destroy();
        root.replaceChildren();
        listed = wanted;
        mounted = (listed ? list : graph)(root, Object.assign(Object.create(ctx), { route: route }));
      }
      update(ctx.route);
      return { update: update, destroy() { mounted.destroy(); } };
    },
  });
})();
