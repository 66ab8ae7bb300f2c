// What is shown. Everything that changes it goes through `update`, which tells the parts of the page that watch.

const state = {
  sheet: 0,
  level: 0,
  // Whether the passes are shown instead of a graph.
  passes: false,
  // The number of steps that are done.
  time: 0,
  playing: false,
  selected: null,
  hovered: null,
};

const watchers = [];

// Calls `action` after a change of one of these fields.
const watch = (fields, action) => watchers.push({ fields, action });

function update(change) {
  const changed = Object.keys(change).filter((field) => state[field] !== change[field]);
  if (!changed.length) return;
  Object.assign(state, change);
  for (const { fields, action } of watchers) if (fields.some((field) => changed.includes(field))) action();
}

const sheet = () => sheets[state.sheet];
const level = () => sheet().level(state.level);

// The node of another level that stands for a node: itself, that of its line, or that of its file.
function counterpart(node, other) {
  const same = other.byId.get(node.id);
  if (same && (same.label === node.label || same.kind === "collapsed")) return same;
  const at = (found) => found.line && node.line && found.line.file === node.line.file;
  return other.nodes.find((found) => at(found) && found.line.line === node.line.line) ?? other.nodes.find(at) ?? same ?? null;
}

function showLevel(place) {
  const before = level();
  const ended = state.time === before.total;
  const selected = state.selected && counterpart(state.selected, sheet().level(place));
  const after = sheet().level(place);
  const time = ended ? after.total : Math.round(state.time / before.total * after.total);
  update({ level: place, selected, hovered: null, playing: false, time });
}

function showSheet(place) {
  if (state.sheet === place) return update({ passes: false });
  update({ sheet: place, level: 0, selected: null, hovered: null, playing: false, passes: false, time: sheets[place].level(0).total });
}

// What is known of a node at this time: whether it is computed, and the share of contributions that arrived.
function progress(node, time) {
  const known = node.arrivals.length;
  let arrived = 0;
  while (arrived < known && node.arrivals[arrived] < time) arrived += 1;
  return { isComputed: node.index < time, arrived, share: known ? arrived / known : 0 };
}

// The adjoint at this time: that of all contributions so far, if they are few numbers.
function adjointAt(node, time) {
  const { arrived, share } = progress(node, time);
  if (!node.adjoint || share === 0) return null;
  if (share === 1) return { text: brief(node.adjoint), isComplete: true };
  const parts = node.receives.filter((edge) => edge.moment < time).map((edge) => edge.contribution);
  if (!node.adjoint.elements || !parts.every((part) => part?.elements)) {
    return { text: `${arrived} of ${node.arrivals.length} contributions`, isComplete: false };
  }
  const sums = node.adjoint.elements.map((_, place) => parts.reduce((sum, part) => sum + (part.elements[place] ?? part.elements[0]), 0));
  return { text: `${nested(sums, node.adjoint.sizes, short)} + …`, isComplete: false };
}

// The node of the last step, or none at both ends.
function current(graph, time) {
  if (time <= 0 || time >= graph.total) return null;
  return time <= graph.forward ? graph.nodes[time - 1] : graph.swept[time - graph.forward - 1];
}
