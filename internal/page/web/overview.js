/* overview.js shows what was recorded. */
cairn.view({
  id: "overview", title: "Overview", key: "o", order: 0,
  mount(root, ctx) {
    root.append(cairn.el("h1", null, ctx.model.title));
    return { update() {}, destroy() {} };
  },
});
