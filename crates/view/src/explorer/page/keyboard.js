// Keys. Those of the page work wherever no field is being edited.

const KEYS = [
  ["↑ ↓", "along the edges, to an operand or a reader"],
  ["← →", "to the node beside"],
  ["/", "search"],
  ["Space", "play or pause"],
  [", .", "one step back or on"],
  ["Home End", "to the start, to the end"],
  ["+ −", "zoom"],
  ["f", "show everything"],
  ["l", "collapse by line, and back"],
  ["1 2 3 ..", "another tab"],
  ["t", "light or dark"],
  ["Escape", "close"],
  ["?", "these keys"],
];

function showHelp() {
  const rows = KEYS.flatMap(([key, what]) => [element("dt", {}, ...key.split(" ").map((one) => element("kbd", {}, one))), element("dd", {}, what)]);
  const dialog = byName("help");
  dialog.replaceChildren(element("h2", {}, "Keys"), element("dl", {}, ...rows),
    element("p", { class: "quiet" }, "Drag to move, turn the wheel to zoom, click a frame's title to fold it."),
    element("button", { click: () => dialog.close() }, "Close"));
  dialog.showModal();
}

// The nearest node on one side, in the same row if there is one.
function beside(node, direction) {
  const middle = center(node);
  const candidates = level().nodes.filter((other) => !other.isHead && other !== node && (center(other).x - middle.x) * direction > 1);
  const distance = (other) => Math.abs(center(other).x - middle.x) + 6 * Math.abs(center(other).y - middle.y);
  return candidates.reduce((best, other) => (!best || distance(other) < distance(best) ? other : best), null);
}

function moveSelection(key) {
  const graph = level(), node = state.selected ?? current(graph, state.time);
  if (!node) return select(graph.nodes[graph.nodes.length - 1]);
  if (key === "ArrowUp") return select(node.reads.length ? graph.nodes[node.reads[0].from] : null);
  if (key === "ArrowDown") return select(node.readBy.length ? graph.nodes[node.readBy[0].to] : null);
  select(beside(node, key === "ArrowLeft" ? -1 : 1));
}

function select(node) {
  if (!node) return;
  update({ selected: node });
  follow(node);
}

const ACTIONS = {
  " ": togglePlay,
  ",": () => step(-1),
  ".": () => step(1),
  Home: () => update({ playing: false, time: 0 }),
  End: () => update({ playing: false, time: level().total }),
  "+": () => zoom(1.4),
  "=": () => zoom(1.4),
  "-": () => zoom(1 / 1.4),
  f: () => fit(),
  l: () => {
    const lines = sheet().levelNames.findIndex((name) => name === "Lines" || name === "Groups");
    if (lines > 0) showLevel(state.level ? 0 : lines);
  },
  t: toggleTheme,
  "?": showHelp,
  "/": () => byName("query").focus(),
  Escape: () => (state.passes ? update({ passes: false }) : update({ selected: null, playing: false })),
  ArrowUp: () => moveSelection("ArrowUp"),
  ArrowDown: () => moveSelection("ArrowDown"),
  ArrowLeft: () => moveSelection("ArrowLeft"),
  ArrowRight: () => moveSelection("ArrowRight"),
};

function startKeyboard() {
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || byName("help").open) return;
    if (target.matches("input[type=search], select")) return;
    // Focused controls keep the keys that work them.
    if (target.matches("input, .texts") && (key.startsWith("Arrow") || ["Home", "End"].includes(key))) return;
    if (target.matches("button") && key === " ") return;
    const tab = Number(key) - 1;
    const action = ACTIONS[key] ?? (byName("sheets").children[tab] && (() => byName("sheets").children[tab].click()));
    if (!action) return;
    event.preventDefault();
    action();
  });
}
