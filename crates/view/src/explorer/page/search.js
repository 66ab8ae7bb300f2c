// Finds nodes by words in their formula, operation, line or kind; "nan" finds what is not finite.

const MOST_FOUND = 50;
const search = { found: [], chosen: 0 };

function searchText(node) {
  node.searchText ??= [node.label, node.id, node.operation, node.kind, node.shape, node.line ? place(node.line) : "",
    isFaulty(node.value) || isFaulty(node.adjoint) ? "nan inf not finite" : "", node.fromRule ? "rule" : "",
    node.savedBytes ? "saved" : ""].join(" ").toLowerCase();
  return node.searchText;
}

// Better matches first: the name itself, the start of the formula, then everything else in order.
function findNodes(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const matches = level().nodes.filter((node) => words.every((word) => searchText(node).includes(word)));
  const name = words.join(" ");
  const rank = (node) => (node.id.toLowerCase() === name ? 0 : node.label.toLowerCase().startsWith(words[0]) ? 1 : 2);
  return matches.map((node) => [rank(node), node]).sort((a, b) => a[0] - b[0] || a[1].index - b[1].index).map(([, node]) => node);
}

function showFound() {
  const query = byName("query").value.trim();
  const all = findNodes(query);
  search.found = all.slice(0, MOST_FOUND);
  search.chosen = Math.min(search.chosen, Math.max(0, search.found.length - 1));
  const option = (node, place) => element("li", { role: "option", id: `found-${place}`, "aria-selected": String(place === search.chosen),
    pointerdown: (event) => {
      event.preventDefault();
      choose(node);
    } }, element("span", {}, node.label), element("span", { class: "quiet" }, node.line ? shortPlace(node.line) : node.kind));
  const items = search.found.map(option);
  if (all.length > MOST_FOUND) items.push(element("li", { class: "quiet" }, `and ${all.length - MOST_FOUND} more`));
  if (query && !all.length) items.push(element("li", { class: "quiet" }, "nothing found"));
  byName("found").replaceChildren(...items);
  byName("found").hidden = !query;
  byName("query").setAttribute("aria-expanded", String(Boolean(query)));
  byName("query").setAttribute("aria-activedescendant", search.found.length ? `found-${search.chosen}` : "");
  document.getElementById(`found-${search.chosen}`)?.scrollIntoView({ block: "nearest" });
}

const shortPlace = (line) => `${line.file.split(/[\\/]/).pop()}:${line.line}`;

function choose(node) {
  closeSearch();
  update({ passes: false, selected: node });
  showNode(node);
  byName("graph").focus();
}

function closeSearch() {
  byName("query").value = "";
  search.chosen = 0;
  byName("found").hidden = true;
  byName("query").setAttribute("aria-expanded", "false");
}

function startSearch() {
  const field = byName("query");
  field.addEventListener("input", () => {
    search.chosen = 0;
    showFound();
  });
  field.addEventListener("blur", () => { byName("found").hidden = true; });
  field.addEventListener("focus", showFound);
  field.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      search.chosen = Math.max(0, Math.min(search.found.length - 1, search.chosen + move));
      showFound();
    } else if (event.key === "Enter" && search.found.length) {
      choose(search.found[search.chosen]);
    } else if (event.key === "Escape") {
      closeSearch();
      byName("graph").focus();
    }
  });
}
