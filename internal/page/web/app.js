"use strict";
/*
 * app.js is the shell of the report: the registry of views, the address bar, loading of data,
 * the keyboard. Scripts of views come after it and register themselves:
 *
 *   cairn.view({
 *     id: "functions",          // also its name in the address bar
 *     title: "Functions",
 *     key: "f",                 // g f goes there
 *     order: 20,                // place among the tabs; default 100
 *     hidden: false,            // true: no tab (views of one thing)
 *     parent: "functions",      // of a hidden view: the tab to mark
 *     available(model) { return model.functions.length > 0; },
 *     mount(root, ctx) { return { update(route) {}, destroy() {} }; },
 *   });
 *
 * ctx is {model, route, go(route, {replace}), href(route), format, load(path), announce(text)}.
 * A route is {view, ...parameters}, all strings; it is kept in the address bar as
 * #view?parameter=value. mount must show ctx.route; update is called when only parameters change.
 * load(path) returns a Promise of parsed JSON where path ends in .json, else of an ArrayBuffer:
 * from the page itself, or from /data/ + path of the server.
 */
window.cairn = (function () {
  const views = new Map();
  const keys = [];
  const loaded = new Map();
  const state = { model: null, route: null, view: null, mounted: null };

  /** view registers a view. */
  function view(v) { views.set(v.id, Object.assign({ order: 100, available: function () { return true; } }, v)); }

  /**
   * key registers a key of the keyboard: cairn.key("j", "Next row", f), with {view: id} for
   * one view only. f returns false where it does not apply.
   */
  function key(name, help, run, options) { keys.push(Object.assign({ name: name, help: help, run: run }, options)); }

  function shown() {
    const only = state.model.view; // of a page that has no other
    return [...views.values()].filter(function (v) { return only ? v.id === only : !v.hidden && v.available(state.model); })
      .sort(function (a, b) { return a.order - b.order; });
  }

  // Routes.

  function parse(hash) {
    const text = hash.replace(/^#/, "");
    const at = text.indexOf("?");
    const route = {};
    if (at >= 0) for (const [k, v] of new URLSearchParams(text.slice(at + 1))) route[k] = v;
    route.view = decodeURIComponent(at < 0 ? text : text.slice(0, at));
    return route;
  }

  function href(route) {
    const rest = new URLSearchParams();
    for (const [k, v] of Object.entries(route)) if (k !== "view" && v !== undefined && v !== null && v !== "") rest.set(k, v);
    const text = rest.toString();
    return "#" + encodeURIComponent(route.view) + (text ? "?" + text : "");
  }

  function go(route, options) {
    const hash = href(route);
    if (hash === location.hash) return;
    if (options && options.replace) {
      history.replaceState(null, "", hash);
      show();
    } else {
      location.hash = hash; // the event calls show
    }
  }

  // Data.

  async function decode(element) {
    if (element.type === "application/json") return new TextEncoder().encode(element.textContent).buffer;
    const text = atob(element.textContent.trim());
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async function bytesOf(path) {
    if (document.documentElement.dataset.served !== undefined) {
      const answer = await fetch("/data/" + path.split("/").map(encodeURIComponent).join("/"));
      if (!answer.ok) throw new Error(path + ": the server answers " + answer.status);
      return answer.arrayBuffer();
    }
    const element = document.querySelector('script[data-path="' + CSS.escape(path) + '"]');
    if (!element) throw new Error(path + " is not in this page");
    return decode(element);
  }

  function load(path) {
    if (!loaded.has(path)) {
      const result = bytesOf(path).then(function (bytes) {
        return path.endsWith(".json") ? JSON.parse(new TextDecoder().decode(bytes)) : bytes;
      });
      result.catch(function () { loaded.delete(path); });
      loaded.set(path, result);
    }
    return loaded.get(path);
  }

  // What is on the screen.

  function announce(text) { document.getElementById("announce").textContent = text; }

  function tabs(current) {
    const nav = document.getElementById("tabs");
    if (state.model.view) return;
    nav.replaceChildren(...shown().map(function (v) {
      const a = document.createElement("a");
      a.href = href({ view: v.id });
      a.textContent = v.title;
      if (v.key) a.title = v.title + " (g " + v.key + ")";
      if (current && (v.id === current.id || v.id === current.parent)) a.setAttribute("aria-current", "page");
      return a;
    }));
    const marked = nav.querySelector("[aria-current]");
    if (marked) marked.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function titleOf(v) {
    const what = state.mounted && state.mounted.title ? state.mounted.title() : v.title;
    document.title = what + " · " + state.model.title;
  }

  function show() {
    const route = parse(location.hash);
    let v = views.get(route.view), unknown = "";
    if (!v || !v.available(state.model) || state.model.view && v.id !== state.model.view) {
      unknown = route.view;
      v = shown()[0];
      route.view = v.id;
    }
    state.route = route;
    if (state.view === v && state.mounted) {
      state.mounted.update(route);
      titleOf(v);
      return;
    }
    const changed = state.view !== null;
    if (state.mounted) state.mounted.destroy();
    state.view = v;
    state.mounted = null;
    tabs(v);
    const root = document.getElementById("view");
    root.replaceChildren();
    root.className = "view view-" + v.id;
    window.scrollTo(0, 0);
    try {
      state.mounted = v.mount(root, context(route)) || { update: function () {}, destroy: function () {} };
    } catch (e) {
      fail(root, e);
      state.mounted = { update: function () {}, destroy: function () {} };
    }
    if (unknown) {
      const p = document.createElement("p");
      p.className = "failure";
      p.setAttribute("role", "alert");
      p.textContent = "This report has no view \u201c" + unknown + "\u201d. This is the first of those that it has.";
      root.prepend(p);
    }
    titleOf(v);
    if (changed) {
      root.focus({ preventScroll: true });
      announce(v.title);
    }
  }

  function context(route) {
    return { model: state.model, route: route, go: go, href: href, format: cairn.format, load: load, announce: announce };
  }

  /** fail shows an error in place of what could not be shown. */
  function fail(root, e) {
    const p = document.createElement("p");
    p.className = "failure";
    p.setAttribute("role", "alert");
    p.textContent = "This cannot be shown: " + (e && e.message || e);
    root.replaceChildren(p);
    if (window.console) console.error(e);
  }

  // Keyboard.

  let prefix = "";
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest && event.target.closest("input,select,textarea,dialog,[contenteditable]") && event.key !== "Escape") return;
    if (event.key === "Shift") return;
    const name = prefix ? prefix + " " + event.key : event.key;
    prefix = "";
    if (name === "g") {
      prefix = "g";
      return;
    }
    if (name.startsWith("g ")) {
      const v = shown().find(function (v) { return "g " + v.key === name; });
      if (v) {
        event.preventDefault();
        go({ view: v.id });
        return;
      }
    }
    for (let i = keys.length - 1; i >= 0; i--) {
      const k = keys[i];
      if (k.name !== name || k.view && k.view !== state.view.id) continue;
      if (k.run(event) === false) continue;
      event.preventDefault();
      return;
    }
  }

  function help() {
    const dialog = document.getElementById("help");
    const list = dialog.querySelector("dl");
    const rows = shown().filter(function (v) { return v.key; }).map(function (v) { return ["g " + v.key, "Go to " + v.title]; });
    for (const k of keys) if (!k.view || k.view === state.view.id) rows.push([k.show || k.name, k.help]);
    list.replaceChildren(...rows.flatMap(function (row) {
      const dt = document.createElement("dt");
      const dd = document.createElement("dd");
      for (const part of row[0].split(" ")) {
        const kbd = document.createElement("kbd");
        kbd.textContent = part;
        dt.append(kbd);
      }
      dd.textContent = row[1];
      return [dt, dd];
    }));
    dialog.showModal();
  }

  // Light and dark: as the system has it, or as chosen in this browser.

  function stored(name, value) {
    try {
      if (value === undefined) return localStorage.getItem("cairn." + name);
      localStorage.setItem("cairn." + name, value);
    } catch (e) { /* pages from disk may have no storage */ }
    return null;
  }

  function theme(name) {
    document.documentElement.dataset.theme = name;
    document.dispatchEvent(new CustomEvent("cairn-theme")); // what draws on a canvas draws again
  }

  function toggleTheme() {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    theme(next);
    stored("theme", next);
  }

  // Beginning.

  async function readModel() {
    if (document.documentElement.dataset.served !== undefined) {
      const answer = await fetch("/model.json");
      if (!answer.ok) throw new Error((await answer.text()).trim() || "the server answers " + answer.status);
      return answer.json();
    }
    return JSON.parse(new TextDecoder().decode(await decode(document.getElementById("model"))));
  }

  /** refresh reads the model again; the view on the screen is made anew. */
  async function refresh() {
    state.model = await readModel();
    loaded.clear();
    if (state.mounted) state.mounted.destroy();
    state.mounted = null;
    state.view = null;
    document.dispatchEvent(new CustomEvent("cairn-model"));
    head();
    show();
  }

  function head() {
    document.getElementById("program").textContent = state.model.title;
  }

  /** follow calls f when the server has a new model. */
  function follow(f) {
    if (document.documentElement.dataset.served === undefined) return;
    new EventSource("/events").addEventListener("changed", f);
  }

  async function boot() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    theme(stored("theme") || (dark.matches ? "dark" : "light"));
    dark.addEventListener("change", function () { if (!stored("theme")) theme(dark.matches ? "dark" : "light"); });
    document.getElementById("theme").addEventListener("click", toggleTheme);
    document.getElementById("keys").addEventListener("click", help);
    document.addEventListener("keydown", pressed);
    key("t", "Switch between light and dark", toggleTheme);
    key("?", "List the keys", help);
    try {
      state.model = await readModel();
    } catch (e) {
      fail(document.getElementById("view"), e);
      follow(function () { location.reload(); });
      return;
    }
    head();
    document.dispatchEvent(new CustomEvent("cairn-model"));
    window.addEventListener("hashchange", show);
    show();
    follow(function () { refresh().catch(function (e) { announce(String(e)); }); });
    document.documentElement.dataset.ready = "";
  }
  document.addEventListener("DOMContentLoaded", boot);

  return {
    view: view, key: key, go: go, href: href, load: load, fail: fail, announce: announce, refresh: refresh, stored: stored,
    get model() { return state.model; }, get route() { return state.route; },
  };
})();
