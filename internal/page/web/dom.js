/* dom.js makes elements. Text is always text: names come from programs and are never HTML. */
cairn.el = function (tag, attributes, ...children) {
  const e = document.createElement(tag);
  return cairn.set(e, attributes, children);
};

/** svg makes an element of a picture. */
cairn.svg = function (tag, attributes, ...children) {
  const e = document.createElementNS(document.querySelector("header svg").namespaceURI, tag);
  return cairn.set(e, attributes, children);
};

/**
 * set gives an element attributes and children. on... are listeners, style is an object (the
 * page's policy forbids style attributes), true and false are attributes without a value.
 */
cairn.set = function (e, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
    else if (name === "text") e.textContent = value;
    else e.setAttribute(name, value === true ? "" : value);
  }
  for (const child of (children || []).flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) e.append(child);
  }
  return e;
};

/** link is a link to a route. */
cairn.link = function (route, text, attributes) {
  return cairn.el("a", Object.assign({ href: cairn.href(route) }, attributes), text);
};

/** debounce calls f when it was not asked to for so many milliseconds. */
cairn.debounce = function (f, ms) {
  let timer = 0;
  return function (...args) {
    clearTimeout(timer);
    timer = setTimeout(function () { f(...args); }, ms);
  };
};
