// search.js finds pages by the words that they have: titles count more than texts, and a page must have all words.
(function () {
  const input = document.getElementById("search"), found = document.getElementById("found"), root = document.querySelector(".brand").getAttribute("href").replace(/index\.html$/, "");
  const most = 12;

  function score(page, words) {
    const title = page.title.toLowerCase(), text = page.text.toLowerCase();
    let sum = 0;
    for (const w of words) {
      const n = text.split(w).length - 1, named = title.includes(w);
      if (!n && !named) return 0;
      sum += (named ? 20 : 0) + Math.min(n, 10);
    }
    return sum;
  }

  /** around is the text of a page at the first word, with that marked. */
  function around(page, word) {
    const at = Math.max(0, page.text.toLowerCase().indexOf(word)), from = Math.max(0, at - 60), p = document.createElement("p"), mark = document.createElement("mark");
    mark.textContent = page.text.slice(at, at + word.length);
    p.append(page.text.slice(from, at), mark, page.text.slice(at + word.length, at + 140));
    return p;
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = !words.length;
    if (!words.length) return;
    const list = window.pages.map(function (p) { return [score(p, words), p]; }).filter(function (r) { return r[0]; }).sort(function (a, b) { return b[0] - a[0]; });
    const said = document.createElement("p");
    said.textContent = list.length ? list.length + (list.length === 1 ? " page" : " pages") : "No page has all of these words.";
    found.replaceChildren(said, ...list.slice(0, most).map(function (r) {
      const item = document.createElement("article"), a = document.createElement("a");
      a.href = root + r[1].url.replace(/^\//, "");
      a.textContent = r[1].title;
      item.append(a, around(r[1], words[0]));
      return item;
    }));
  }

  input.addEventListener("input", show);
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== input && !e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      input.focus();
    } else if (e.key === "Escape") {
      input.value = "";
      input.blur();
      show();
    }
  });
  const menu = document.getElementById("menu");
  menu.addEventListener("click", function () {
    const open = document.body.classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
  });
  const current = document.querySelector("#paths [aria-current]");
  if (current) current.scrollIntoView({ block: "nearest" });
})();
