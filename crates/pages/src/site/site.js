// The theme, the search, and the place in the contents. Everything works without this script, except the search.
"use strict";

const root = document.documentElement;

// Light or dark: what the reader chose, or what the system prefers. Storage may be closed to files.
function stored(theme) {
  try {
    if (theme !== undefined) localStorage.setItem("wengert-theme", theme);
    return localStorage.getItem("wengert-theme");
  } catch {
    return theme ?? null;
  }
}

// A link can ask for a theme, `?theme=dark`, and for a search, `?search=tape`.
const asked = new URLSearchParams(location.search).get("theme");
const chosen = asked ?? stored();
if (chosen) root.dataset.theme = chosen;

function isDark() {
  return (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

// Rows of the index: title of the page, heading, place, text.
function ranked(words, rows) {
  const found = [];
  for (const row of rows) {
    const [title, heading, place, text] = row;
    const name = heading.toLowerCase(), page = title.toLowerCase(), body = text.toLowerCase();
    let score = 0;
    for (const word of words) {
      let points = 0;
      if (name === word || name.endsWith("::" + word)) points = 100;
      else if (name.startsWith(word)) points = 60;
      else if (name.includes(word)) points = 40;
      else if (page.includes(word)) points = 15;
      else if (body.includes(word)) points = 5;
      if (points === 0) { score = 0; break; }
      score += points;
    }
    if (score >= 40 && !place.includes("#")) score += 30;
    if (score > 0 && place.startsWith("ops/")) score -= 4;
    if (score > 0) found.push([score, row]);
  }
  return found.sort((a, b) => b[0] - a[0]).slice(0, 12).map((pair) => pair[1]);
}

// The text around the first word, as nodes: nothing of the index is read as markup.
function excerpt(text, words) {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const from = Math.max(0, (places.length ? Math.min(...places) : 0) - 40);
  const node = document.createElement("small");
  node.textContent = (from > 0 ? "…" : "") + text.slice(from, from + 130);
  return node;
}

function search() {
  const query = document.getElementById("query"), results = document.getElementById("results");
  let selected = 0;

  function load(then) {
    if (window.wengertSearch) return then();
    const script = document.createElement("script");
    script.src = root.dataset.root + "assets/search.js";
    script.onload = then;
    document.head.append(script);
  }

  function mark(place) {
    const items = results.children;
    if (items.length === 0) return;
    selected = (place + items.length) % items.length;
    for (const item of items) item.classList.remove("selected");
    items[selected].classList.add("selected");
    items[selected].scrollIntoView({ block: "nearest" });
  }

  function show() {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.replaceChildren();
    results.hidden = words.length === 0;
    if (words.length === 0) return;
    for (const [title, heading, place, text] of ranked(words, window.wengertSearch)) {
      const item = document.createElement("li"), link = document.createElement("a"), page = document.createElement("span");
      link.href = root.dataset.root + place;
      link.append(heading);
      if (title !== heading) { page.textContent = title; link.append(page); }
      link.append(excerpt(text, words));
      item.append(link);
      results.append(item);
    }
    if (results.children.length === 0) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "Nothing found";
      results.append(none);
    }
    mark(0);
  }

  query.addEventListener("input", () => load(show));
  query.addEventListener("focus", () => load(show));
  query.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") mark(selected + 1);
    else if (event.key === "ArrowUp") mark(selected - 1);
    else if (event.key === "Enter") results.children[selected]?.querySelector("a")?.click();
    else if (event.key === "Escape") { query.value = ""; query.blur(); results.hidden = true; }
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) results.hidden = true; });
  results.addEventListener("click", () => { results.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, textarea")) {
      event.preventDefault();
      query.focus();
    }
  });
  const wanted = new URLSearchParams(location.search).get("search");
  if (wanted) { query.value = wanted; load(show); }
}

// The heading that is being read, in the contents.
function follow() {
  const lines = new Map();
  for (const link of document.querySelectorAll(".contents a")) lines.set(link.hash.slice(1), link);
  if (lines.size === 0) return;
  const headings = [...document.querySelectorAll("article h2, article h3")];
  const update = () => {
    let current = null;
    for (const heading of headings) if (heading.getBoundingClientRect().top < 120) current = heading;
    for (const [id, link] of lines) link.classList.toggle("current", current !== null && id === current.id);
  };
  document.addEventListener("scroll", update, { passive: true });
  update();
}

document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
  });
  document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest" });
  search();
  follow();
});
