// What is known of the selected node; without one, of the graph.

function link(node, text = node.label) {
  const go = () => {
    update({ selected: node });
    showNode(node);
  };
  return element("button", { class: "link", click: go, pointerenter: () => update({ hovered: node }),
    pointerleave: () => update({ hovered: null }) }, text);
}

const section = (title, colour, ...children) => element("section", { class: colour ?? "" }, element("h3", {}, title), ...children);

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value != null && value !== "");
  return element("dl", {}, ...shown.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

const exactNumber = (value, name) => element("span", { "data-value": name, title: exact(value) }, short(value));

function histogram(summary) {
  if (!summary.histogram.length) return null;
  const most = Math.max(...summary.histogram), bins = summary.histogram.length;
  const edge = (place) => short(summary.least + (summary.greatest - summary.least) * place / bins);
  const bars = summary.histogram.map((count, place) => element("span", {
    style: `height:${count ? Math.max(2, 100 * count / most) : 0}%`, title: `${edge(place)} .. ${edge(place + 1)}: ${counted(count, "element")}` }));
  const label = `Histogram from ${short(summary.least)} to ${short(summary.greatest)}: ${summary.histogram.join(", ")}`;
  return element("div", { class: "histogram" }, element("div", { class: "bars", role: "img", "aria-label": label }, ...bars),
    element("div", { class: "ends" }, element("span", {}, short(summary.least)), element("span", {}, short(summary.greatest))));
}

// A value: the elements of a small one, or else its histogram and statistics.
function valueParts(summary) {
  if (summary.symbolic) return [element("p", { class: "quiet" }, "symbolic")];
  const faults = [[summary.nans, "NaN"], [summary.infinities, "infinite"]].filter(([count]) => count > 0);
  const fault = faults.length ? element("p", { class: "fault" }, faults.map(([count, what]) => `${count} ${what}`).join(", ")) : null;
  if (summary.elements) {
    return [element("p", { class: "number", "data-value": "elements" }, nested(summary.elements, summary.sizes, exact)), fault];
  }
  if (Number.isNaN(summary.least)) return [element("p", { class: "quiet" }, "nothing finite"), fault];
  return [histogram(summary), facts([["least", exactNumber(summary.least, "least")], ["mean", exactNumber(summary.mean, "mean")],
    ["greatest", exactNumber(summary.greatest, "greatest")], ["elements", summary.count.toLocaleString("en")],
    ["NaN", summary.nans ? element("span", { class: "fault" }, String(summary.nans)) : "0"],
    ["infinite", summary.infinities ? element("span", { class: "fault" }, String(summary.infinities)) : null]]), null];
}

const MOST_LISTED = 12;

// Nodes at the other ends of edges, the first of them as links.
function listed(edges, other, text) {
  const items = edges.slice(0, MOST_LISTED).map((edge) => element("li", {}, link(other(edge)), ...text(edge)));
  if (edges.length > MOST_LISTED) items.push(element("li", { class: "quiet" }, `and ${edges.length - MOST_LISTED} more`));
  return element("ul", {}, ...items);
}

function adjointSection(graph, node) {
  if (!node.adjoint) return null;
  const { arrived, share } = progress(node, state.time);
  const total = node.arrivals.length;
  const isAll = share === 1;
  const heading = isAll ? "Adjoint" : `Adjoint · ${arrived} of ${total} contributions so far`;
  const known = node.receives.filter((edge) => edge.moment < state.time);
  const amount = (edge) => [element("span", { class: "number" }, edge.contribution ? ` ${brief(edge.contribution)}` : "")];
  const body = isAll ? valueParts(node.adjoint) : [element("p", { class: "number quiet" }, adjointAt(node, state.time)?.text ?? "nothing yet")];
  const parts = known.length ? [element("h4", {}, known.length > 1 ? "the sum of what these hand back" : "handed back by"),
    listed(known, (edge) => graph.nodes[edge.from], amount)] : [];
  return section(heading, "adjoint", ...body, ...parts);
}

function savedSection(graph, node) {
  if (!node.saved.length && !node.savedBytes) return null;
  const item = (one) => element("li", {}, `${one.what}`, one.node != null ? ": " : "", one.node != null ? link(graph.nodes[one.node]) : null,
    element("span", { class: "quiet" }, one.bytes ? ` ${byteText(one.bytes)}` : ""), one.value ? ` = ${brief(one.value)}` : "");
  const why = node.rule ? element("p", { class: "quiet" }, "because its rule needs them: ", element("code", {}, node.rule)) : null;
  const size = node.savedBytes ? ` · ${byteText(node.savedBytes)}` : "";
  return section(`Keeps for the reverse pass${size}`, "saved", node.saved.length ? element("ul", {}, ...node.saved.map(item)) : null, why);
}

function nodeCard(graph, node) {
  const close = element("button", { class: "icon close", "aria-label": "Close", title: "Close (Escape)",
    click: () => update({ selected: null }) }, "×");
  const kind = node.fromRule ? "From a derivative or batching rule" : MEANINGS[node.kind];
  const cost = node.flops || node.bytes ? `${short(node.flops)} operations, ${byteText(node.bytes)} of memory` : null;
  const { isComputed } = progress(node, state.time);
  const later = element("p", { class: "quiet" }, "not computed yet");
  const readers = node.readBy.length > 1 ? `Read by ${node.readBy.length}` : "Read by";
  return [
    element("div", { class: "head" }, element("p", { class: "kind" }, kind), close, element("h2", {}, node.label)),
    facts([
      ["operation", node.operation && !node.label.includes(node.operation) ? element("code", {}, node.operation) : null],
      ["rule", node.rule ? element("code", {}, node.rule) : null],
      ["shape", node.shape || node.value?.shape ? element("code", {}, node.shape || node.value.shape) : null],
      ["line", node.line ? element("code", { class: "line" }, place(node.line)) : null],
      ["stands for", node.members > 1 ? counted(node.members, "node") : null],
      ["cost", cost],
      ["time", node.milliseconds != null ? `${short(node.milliseconds)} ms` : null],
    ]),
    node.value ? section("Value", "forward", ...(isComputed ? valueParts(node.value) : [later])) : null,
    adjointSection(graph, node),
    savedSection(graph, node),
    node.reads.length ? section("Reads", "", listed(node.reads, (edge) => graph.nodes[edge.from],
      (edge) => [element("span", { class: "quiet" }, edge.name ? ` ${edge.name}` : "", edge.count > 1 ? ` ${edge.count} edges` : "")])) : null,
    node.readBy.length ? section(readers, "", listed(node.readBy, (edge) => graph.nodes[edge.to], () => [])) : null,
  ];
}

function graphCard(graph) {
  const kinds = new Map();
  for (const node of graph.nodes) {
    const kind = node.fromRule ? "From a rule" : MEANINGS[node.kind];
    if (!kinds.has(kind)) kinds.set(kind, { node, count: 0 });
    kinds.get(kind).count += 1;
  }
  const sample = ([kind, { node, count }]) => {
    const [fill, border] = look(node);
    return element("li", {}, element("span", { class: "sample", style: `background:${fill};border-color:${border}` }), kind,
      element("span", { class: "quiet" }, ` ${count.toLocaleString("en")}`));
  };
  const saved = graph.nodes.reduce((sum, node) => sum + node.savedBytes, 0);
  const faulty = graph.nodes.filter((node) => isFaulty(node.value) || isFaulty(node.adjoint));
  const edges = graph.edges.filter((edge) => edge.kind !== ADJOINT);
  const item = (node) => element("li", {}, link(node));
  const line = (colour, text) => element("li", {}, element("span", { class: "stroke", style: `background:var(--${colour})` }), text);
  return [
    element("div", { class: "head" }, element("p", { class: "kind" }, sheet().name), element("h2", {}, sheet().title)),
    ...graph.notes.map((note) => element("p", { class: "note" }, note)),
    faulty.length ? section("Not finite", "faulty", element("ul", {}, ...faulty.slice(0, MOST_LISTED).map(item))) : null,
    facts([["nodes", graph.nodes.length.toLocaleString("en")], ["edges", edges.length.toLocaleString("en")],
      ["saved", saved ? byteText(saved) : null]]),
    section("Legend", "legend", element("ul", {}, ...[...kinds].map(sample), line("forward", "values"),
      graph.hasAdjoints ? line("adjoint", "adjoints") : null,
      saved ? element("li", {}, element("span", { class: "dot" }), "kept for the reverse pass") : null)),
    element("p", { class: "quiet hint" }, "Click a node for its numbers. Press ? for all keys."),
  ];
}

function showCard() {
  const graph = level(), node = state.selected;
  byName("card").replaceChildren(...(node ? nodeCard(graph, node) : graphCard(graph)).filter(Boolean));
  byName("card").classList.toggle("node", node != null);
}

function startCard() {
  watch(["selected", "sheet", "level"], () => {
    showCard();
    byName("card").scrollTop = 0;
    const node = state.selected;
    const parts = node && [node.label, node.value && `value ${brief(node.value)}`, node.adjoint && `adjoint ${brief(node.adjoint)}`];
    byName("said").textContent = parts ? parts.filter(Boolean).join(", ") : "";
  });
  // While the player runs, the card keeps up with it.
  let last = 0;
  watch(["time"], () => {
    const now = performance.now();
    if (!state.selected || (state.playing && now - last < 120 && state.time < level().total)) return;
    last = now;
    showCard();
  });
  themeWatchers.push(showCard);
  showCard();
}
