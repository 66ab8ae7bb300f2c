// Draws the part of the graph that is seen, with less detail the further away it is.

const BESIDE = 4;
const MOST_BOLD = 60;
const TEXT_SCALE = 0.42, BOX_SCALE = 0.08;
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

const draw = oncePerFrame(() => {
  if (!state.passes) drawGraph();
});

function drawGraph() {
  const graph = level();
  const { context, width, height } = fitted(byName("graph"));
  const [left, top] = toGraph(0, 0), [right, bottom] = toGraph(width, height);
  const seen = graph.index(left, top, right, bottom);
  context.translate(width / 2, height / 2);
  context.scale(camera.scale, camera.scale);
  context.translate(-camera.x, -camera.y);
  context.lineJoin = "round";
  const isFolded = (node) => node.group != null && graph.groups[node.group].folded;
  graph.groups.forEach((group, place) => {
    if (group.x <= right && group.x + group.w >= left && group.y <= bottom && group.y + group.h >= top) drawFrame(context, graph, group, place);
  });
  drawWires(context, graph, seen.wires, isFolded);
  const far = camera.scale < BOX_SCALE ? 1.6 / camera.scale : 0;
  const taken = new Set();
  for (const node of seen.nodes) {
    if (far && isTaken(taken, graph, node)) continue;
    if (!isFolded(node) && node.x <= right && node.x + node.w >= left && node.y <= bottom && node.y + node.h >= top) {
      drawNode(context, graph, node, far);
    }
  }
  const marked = state.hovered ?? state.selected;
  if (marked && camera.scale >= TEXT_SCALE) drawContributions(context, graph, marked);
  drawOverview();
}

// From afar, several nodes share a pixel: one of each state is drawn.
function isTaken(taken, graph, node) {
  if (node === state.selected || node === current(graph, state.time)) return false;
  const { isComputed, share } = progress(node, state.time);
  const [x, y] = [Math.round(node.x * camera.scale), Math.round(node.y * camera.scale)];
  const key = ((y * 65536 + x) * 4 + 2 * isComputed + (share > 0)) * 8 + KINDS.indexOf(node.kind);
  const known = taken.has(key);
  taken.add(key);
  return known;
}

function isLit(wire, graph) {
  if (!state.selected && !state.hovered) return false;
  const marked = [state.selected, state.hovered];
  return wire.edges.some((place) => marked.includes(graph.nodes[graph.edges[place].from]) || marked.includes(graph.nodes[graph.edges[place].to]));
}

// Lines of one look are drawn as one path.
function drawWires(context, graph, wires, isFolded) {
  const paths = { future: new Path2D(), done: new Path2D(), lit: new Path2D(), back: new Path2D(), backLit: new Path2D() };
  const isFine = camera.scale >= 0.12;
  const ends = [];
  for (const wire of wires) {
    // From afar, most lines are shorter than a pixel.
    if (!isFine && (wire.right - wire.left + wire.bottom - wire.top) * camera.scale < 2) continue;
    const first = graph.edges[wire.edges[0]];
    const [from, to] = [graph.nodes[first.from], graph.nodes[first.to]];
    if (from.group === to.group && isFolded(from)) continue;
    const isDone = state.time > first.moment;
    const lit = isLit(wire, graph);
    const arrived = wire.adjoints.some((place) => graph.edges[place].moment < state.time);
    const aside = arrived && isFine ? BESIDE : 0;
    trace(lit ? paths.lit : isDone ? paths.done : paths.future, wire.points, -aside, isFine);
    if (arrived && isFine) trace(lit ? paths.backLit : paths.back, wire.points, aside, true);
    if (isFine) ends.push({ wire, aside, arrived, colour: lit ? colours.forward : isDone ? colours.line : colours.faint });
  }
  const wide = Math.max(1.2, 0.7 / camera.scale);
  const stroke = (path, colour, width) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke(path);
  };
  stroke(paths.future, colours.faint, wide);
  stroke(paths.done, colours.line, wide);
  context.globalAlpha = 0.55;
  stroke(paths.back, colours.adjoint, wide);
  context.globalAlpha = 1;
  // The lines of a value that is read everywhere stay lines.
  const isCrowded = [state.selected, state.hovered].some((node) => node && node.reads.length + node.readBy.length > MOST_BOLD);
  context.globalAlpha = isCrowded ? 0.35 : 1;
  stroke(paths.lit, colours.forward, (isCrowded ? 0.7 : 1.6) * wide);
  stroke(paths.backLit, colours.adjoint, (isCrowded ? 0.7 : 1.6) * wide);
  context.globalAlpha = 1;
  if (camera.scale >= 0.3) for (const end of ends) drawEnds(context, graph, end);
}

// A smooth line, vertical at every point; from afar, a straight one.
function trace(path, points, aside, isFine) {
  const last = points.length - 2;
  path.moveTo(points[0] + aside, points[1]);
  if (!isFine) return path.lineTo(points[last], points[last + 1]);
  for (let i = 2; i <= last; i += 2) {
    const [x0, y0, x, y] = [points[i - 2] + aside, points[i - 1], points[i] + aside, points[i + 1]];
    if (Math.abs(x - x0) < 0.5) path.lineTo(x, y);
    else path.bezierCurveTo(x0, (y0 + y) / 2, x, (y0 + y) / 2, x, y);
  }
}

function arrow(context, x, y, down, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 3.6, y - 7 * down);
  context.lineTo(x + 3.6, y - 7 * down);
  context.fill();
}

function drawEnds(context, graph, { wire, aside, arrived, colour }) {
  const { points } = wire, last = points.length - 2;
  arrow(context, points[last] - aside, points[last + 1], 1, colour);
  if (arrived) arrow(context, points[0] + aside, points[1], -1, colours.adjoint);
  if (wire.edges.some((place) => graph.edges[place].saved)) {
    context.fillStyle = colours.saved;
    context.beginPath();
    context.arc(points[last] - aside, points[last + 1] - 12, 3, 0, 7);
    context.fill();
  }
}

function drawFrame(context, graph, group, place) {
  const isMarked = [state.selected, state.hovered].some((node) => node && node.isHead && node.group === place);
  context.beginPath();
  context.roundRect(group.x, group.y, group.w, group.h, 10);
  context.fillStyle = group.folded ? colours["kernel-fill"] : colours["frame-fill"];
  context.fill();
  context.setLineDash(group.kind === "body" && !group.folded ? [5, 4] : []);
  context.strokeStyle = isMarked ? colours.select : group.kind === "kernel" ? colours.kernel : colours.line;
  context.lineWidth = isMarked ? 2.5 : 1;
  context.stroke();
  context.setLineDash([]);
  if (camera.scale < TEXT_SCALE) return;
  context.font = `600 12px ${FONT}`;
  context.textAlign = "left";
  context.fillStyle = colours.ink;
  const time = group.head != null && graph.nodes[group.head].milliseconds;
  const label = `${group.folded ? "▸" : "▾"} ${group.label}${time ? ` (${short(time)} ms)` : ""}`;
  context.fillText(clipped(context, label, group.w - 20), group.x + 10, group.y + 19);
}

function drawNode(context, graph, node, far) {
  const { isComputed, share } = progress(node, state.time);
  const isDone = state.time >= graph.total;
  const [fill, border] = look(node);
  const isCurrent = current(graph, state.time) === node;
  const isFault = isFaulty(node.value) || (share === 1 && isFaulty(node.adjoint));
  const [w, h] = [Math.max(node.w, far), Math.max(node.h, far)];
  const [x, y] = [node.x - (w - node.w) / 2, node.y - (h - node.h) / 2];
  if (camera.scale < 0.25) {
    const plain = isFault ? colours.fault : node.kind === "operation" || node.kind === "constant" ? colours.line : border;
    context.fillStyle = !isComputed ? colours.faint : share > 0 && !isDone ? colours.adjoint : plain;
    context.globalAlpha = share > 0 && !isDone && isComputed ? 0.35 + 0.65 * share : 1;
    context.fillRect(x, y, w, h);
    context.globalAlpha = 1;
    if (node === state.selected || isCurrent) mark(context, node, isCurrent);
    return;
  }
  context.beginPath();
  context.roundRect(x, y, w, h, 7);
  context.fillStyle = isComputed ? fill : colours.paper;
  context.fill();
  context.setLineDash(node.kind === "constant" ? [5, 3] : []);
  context.strokeStyle = isFault ? colours.fault : isComputed ? border : colours.faint;
  context.lineWidth = isFault ? 2 : 1;
  context.stroke();
  context.setLineDash([]);
  if (share > 0) drawShare(context, node, share);
  if (node === state.selected || node === state.hovered || isCurrent) mark(context, node, isCurrent);
  if (camera.scale >= TEXT_SCALE) drawText(context, node, isComputed, share);
}

// The share of the contributions that arrived, along the lower border.
function drawShare(context, node, share) {
  context.save();
  context.beginPath();
  context.roundRect(node.x, node.y, node.w, node.h, 7);
  context.clip();
  context.fillStyle = colours.adjoint;
  context.fillRect(node.x, node.y + node.h - 3, node.w * share, 3);
  context.restore();
}

function mark(context, node, isCurrent) {
  const wide = Math.max(2, 1.5 / camera.scale);
  context.beginPath();
  context.roundRect(node.x - 3, node.y - 3, node.w + 6, node.h + 6, 9);
  context.strokeStyle = isCurrent ? (state.time > level().forward ? colours.adjoint : colours.forward) : colours.select;
  context.lineWidth = node === state.hovered && node !== state.selected && !isCurrent ? wide / 2 : wide;
  context.stroke();
}

function clipped(context, text, most) {
  if (context.measureText(text).width <= most) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= most) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

// The label, the value or what is known instead, and the adjoint.
function rows(node, isComputed, share) {
  const shown = [{ text: node.label, colour: isComputed ? colours.ink : colours.quiet, weight: 600 }];
  if (node.value) shown.push({ text: isComputed ? brief(node.value) : "", colour: isFaulty(node.value) ? colours.fault : colours.forward });
  else if (node.milliseconds != null) shown.push({ text: `${short(node.milliseconds)} ms`, colour: colours.forward });
  else shown.push({ text: node.kind === "collapsed" ? node.operation : node.shape, colour: colours.quiet });
  if (node.adjoint) {
    const adjoint = share > 0 ? adjointAt(node, state.time) : null;
    shown.push({ text: adjoint?.text ?? "", colour: isFaulty(node.adjoint) ? colours.fault : colours.adjoint });
  }
  return shown.filter((row, place) => place === 0 || row.text || node.adjoint || node.value);
}

function drawText(context, node, isComputed, share) {
  context.textAlign = "center";
  rows(node, isComputed, share).forEach(({ text, colour, weight }, place) => {
    context.font = `${weight ?? 400} 12px ${FONT}`;
    context.fillStyle = colour;
    context.fillText(clipped(context, text, node.w - 14), node.x + node.w / 2, node.y + 20 + 17 * place);
  });
}

// What the marked node receives and hands on, beside the lines.
function drawContributions(context, graph, marked) {
  context.font = `11px ${FONT}`;
  context.textAlign = "center";
  const wires = graph.wires.filter((wire) => wire.adjoints.some((place) => {
    const edge = graph.edges[place];
    return (edge.from === marked.index || edge.to === marked.index) && edge.moment < state.time && edge.contribution;
  }));
  if (wires.length > 40) return;
  const placed = [];
  for (const wire of wires) {
    const text = wire.adjoints.map((place) => graph.edges[place].contribution).filter(Boolean).map(brief).join("; ");
    const middle = 2 * Math.floor((wire.points.length / 2 - 1) / 2);
    const [x0, y0, x1, y1] = wire.points.slice(middle, middle + 4);
    const width = context.measureText(text).width + 8;
    const x = (x0 + x1) / 2 + BESIDE;
    // Labels keep out of each other's way.
    const isTakenAt = (y) => placed.some((other) => Math.abs(other.y - y) < 16 && Math.abs(other.x - x) < (other.width + width) / 2);
    const y = [0, 16, -16, 32, -32].map((shift) => (y0 + y1) / 2 + shift).find((y) => !isTakenAt(y)) ?? (y0 + y1) / 2;
    placed.push({ x, y, width });
    context.fillStyle = colours.paper;
    context.globalAlpha = 0.9;
    context.fillRect(x - width / 2, y - 9, width, 16);
    context.globalAlpha = 1;
    context.fillStyle = colours.adjoint;
    context.fillText(text, x, y + 3);
  }
}
