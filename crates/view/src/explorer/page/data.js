// The data of the page, decoded: graphs with nodes, edges and lines, as level.rs writes them.

const number = (value) => (typeof value === "string" ? Number(value) : value);

function decodeSummary(cell, texts) {
  if (!cell) return null;
  const [shape, elements, sizes, count, least, greatest, mean, nans, infinities, histogram] = cell;
  const summary = { shape: texts[shape] ?? "", elements: null, sizes: sizes ?? [], histogram: histogram ?? [] };
  if (elements) {
    summary.elements = elements.map(number);
    summary.count = elements.length;
    const finite = summary.elements.filter(Number.isFinite);
    summary.nans = summary.elements.filter(Number.isNaN).length;
    summary.infinities = summary.count - finite.length - summary.nans;
    summary.least = finite.length ? Math.min(...finite) : NaN;
    summary.greatest = finite.length ? Math.max(...finite) : NaN;
    summary.mean = finite.reduce((sum, one) => sum + one, 0) / finite.length;
  } else if (count === undefined) {
    summary.symbolic = true;
  } else {
    Object.assign(summary, { count, least: number(least), greatest: number(greatest), mean: number(mean) });
    summary.nans = nans ?? 0;
    summary.infinities = infinities ?? 0;
  }
  return summary;
}

const KINDS = ["leaf", "constant", "operation", "output", "kernel", "collapsed"];
const ADJOINT = 1;

function decodeNode(row, index, texts) {
  const [id, kind, label, operation, rule, shape, x, y, w, h, value, adjoint, reverse, file, line, column, savedBytes, saved, fromRule,
    group, members, flops, bytes, milliseconds] = row;
  const text = (place) => texts[place] ?? "";
  return {
    index, id, kind: KINDS[kind], label, x, y, w, h,
    operation: text(operation), rule: text(rule), shape: text(shape),
    value: decodeSummary(value, texts), adjoint: decodeSummary(adjoint, texts),
    reverse: reverse ?? null,
    line: line == null ? null : { file: text(file), line, column },
    savedBytes: savedBytes ?? 0,
    saved: (saved ?? []).map(([what, node, size, own]) => (
      { what: text(what), node: node ?? null, bytes: size ?? 0, value: decodeSummary(own, texts) })),
    fromRule: fromRule === 1, group: group ?? null, members: members ?? 1,
    flops: flops ?? 0, bytes: bytes ?? 0, milliseconds: milliseconds ?? null,
    // Filled below: edges by direction, and the moments when contributions arrive.
    reads: [], readBy: [], gives: [], receives: [], arrivals: [], isHead: false,
  };
}

const list = (cell) => (cell == null ? [] : typeof cell === "number" ? [cell] : cell);

// The points of a line and the box around them.
function decodeWire([edges, adjoints, distances]) {
  const points = new Float32Array(distances.length);
  let [x, y, left, top, right, bottom] = [0, 0, Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < distances.length; i += 2) {
    points[i] = x += distances[i];
    points[i + 1] = y += distances[i + 1];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  return { edges: list(edges), adjoints: list(adjoints), points, left, top, right, bottom };
}

function decodeLevel(raw) {
  const nodes = raw.nodes.map((row, index) => decodeNode(row, index, raw.texts));
  const edges = raw.edges.map(([from, to, kind, operand, saved, contribution, name, count]) => ({
    from, to, kind, operand, saved: saved === 1, contribution: decodeSummary(contribution, raw.texts),
    name: raw.texts[name] ?? "", count: count ?? 1,
  }));
  const groups = raw.groups.map(([label, kind, x, y, w, h, head]) => (
    { label, kind: ["kernel", "body"][kind], x, y, w, h, head: head ?? null, folded: false }));
  const level = { name: raw.name, notes: raw.notes, width: raw.size[0], height: raw.size[1], nodes, edges, groups,
    wires: raw.wires.map(decodeWire) };
  for (const group of groups) if (group.head != null) nodes[group.head].isHead = true;
  for (const edge of edges) {
    if (edge.kind === ADJOINT) {
      nodes[edge.from].gives.push(edge);
      nodes[edge.to].receives.push(edge);
    } else {
      nodes[edge.to].reads.push(edge);
      nodes[edge.from].readBy.push(edge);
    }
  }
  schedule(level);
  level.byId = new Map(nodes.map((node) => [node.id, node]));
  level.index = spatialIndex(level);
  return level;
}

// The order of the two passes. A node is computed at the step of its index; in the reverse pass it hands on its adjoint at `sweep`.
function schedule(level) {
  const swept = level.nodes.filter((node) => node.reverse != null).sort((a, b) => a.reverse - b.reverse);
  level.forward = level.nodes.length;
  level.swept = swept;
  level.total = level.forward + swept.length;
  level.hasAdjoints = level.nodes.some((node) => node.adjoint);
  swept.forEach((node, place) => { node.sweep = level.forward + place; });
  for (const node of level.nodes) {
    // Without recorded adjoints, contributions still flow against the edges.
    const senders = level.hasAdjoints ? node.receives.map((edge) => edge.from) : node.readBy.map((edge) => edge.to);
    const arrivals = senders.map((from) => level.nodes[from].sweep).filter((sweep) => sweep !== undefined);
    node.arrivals = arrivals.sort((a, b) => a - b);
    if (!node.arrivals.length && node.sweep !== undefined && (node.adjoint || !level.hasAdjoints)) node.arrivals = [node.sweep];
  }
  for (const edge of level.edges) {
    edge.moment = edge.kind === ADJOINT ? level.nodes[edge.from].sweep ?? Infinity : edge.to;
  }
}

// Nodes and lines by the cells of a grid that they touch, so that a view draws only what it shows.
function spatialIndex(level) {
  const size = Math.max(600, level.width / 200, level.height / 2000);
  const cells = new Map();
  const add = (key, kind, item) => {
    let cell = cells.get(key);
    if (!cell) cells.set(key, (cell = { nodes: [], wires: [] }));
    cell[kind].push(item);
  };
  const long = [];
  const put = (item, kind, left, top, right, bottom) => {
    const [x0, x1] = [Math.floor(left / size), Math.floor(right / size)];
    const [y0, y1] = [Math.floor(top / size), Math.floor(bottom / size)];
    if ((x1 - x0 + 1) * (y1 - y0 + 1) > 64) return void long.push(item);
    for (let x = x0; x <= x1; x++) for (let y = y0; y <= y1; y++) add(y * 1000003 + x, kind, item);
  };
  for (const node of level.nodes) if (!node.isHead) put(node, "nodes", node.x, node.y, node.x + node.w, node.y + node.h);
  for (const wire of level.wires) put(wire, "wires", wire.left, wire.top, wire.right, wire.bottom);
  // What lies in a rectangle; each item once, in no order.
  return (left, top, right, bottom) => {
    const found = { nodes: new Set(), wires: new Set() };
    const inView = (wire) => wire.left <= right && wire.right >= left && wire.top <= bottom && wire.bottom >= top;
    const [x0, x1] = [Math.floor(left / size), Math.floor(right / size)];
    const [y0, y1] = [Math.floor(top / size), Math.floor(bottom / size)];
    if ((x1 - x0 + 1) * (y1 - y0 + 1) > cells.size) {
      return { nodes: level.nodes.filter((node) => !node.isHead), wires: level.wires };
    }
    for (let x = x0; x <= x1; x++) {
      for (let y = y0; y <= y1; y++) {
        const cell = cells.get(y * 1000003 + x);
        if (!cell) continue;
        for (const node of cell.nodes) found.nodes.add(node);
        for (const wire of cell.wires) if (inView(wire)) found.wires.add(wire);
      }
    }
    for (const wire of long) if (inView(wire)) found.wires.add(wire);
    return found;
  };
}

const data = JSON.parse(document.getElementById("data").textContent);

// Levels are decoded when they are first shown.
const sheets = data.sheets.map((sheet) => {
  const decoded = new Map();
  return {
    name: sheet.name,
    title: sheet.title,
    levelNames: sheet.levels.map((level) => level.name),
    level(place) {
      if (!decoded.has(place)) decoded.set(place, decodeLevel(sheet.levels[place]));
      return decoded.get(place);
    },
    memory: sheet.memory && {
      title: sheet.memory.title,
      pieces: sheet.memory.pieces.map(([node, start, bytes, first, end, variable]) => ({ node, start, bytes, first, end, variable })),
    },
  };
});
