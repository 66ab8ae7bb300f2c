// Memory over the steps of the player: each piece is a rectangle, as wide as it lives and as high as it is large.

const MARGIN = 8;

function memoryOf() {
  const { memory } = sheet();
  if (!memory) return null;
  const graph = sheet().level(0);
  memory.size ??= memory.pieces.reduce((most, piece) => Math.max(most, piece.start + piece.bytes), 0);
  return { memory, graph };
}

// The bytes that are in use after a step.
function usedAt(memory, time) {
  return memory.pieces.reduce((sum, piece) => sum + (piece.first < time && time <= piece.end ? piece.bytes : 0), 0);
}

function drawMemory() {
  const found = memoryOf();
  byName("player").classList.toggle("without-memory", !found);
  if (!found || state.passes) return void (byName("memory-title").textContent = "");
  const { memory, graph } = found;
  const { context, width, height } = fitted(byName("memory"));
  const x = (time) => MARGIN + time / Math.max(graph.total, 1) * (width - 2 * MARGIN);
  const y = (bytes) => height - bytes / memory.size * (height - 4);
  const time = Math.round(state.time / Math.max(level().total, 1) * graph.total);
  const marked = [state.hovered, state.selected].filter(Boolean).map((node) => (state.level ? null : node.index));
  const resting = new Path2D(), live = new Path2D();
  for (const piece of memory.pieces) {
    const isLive = piece.first < time && time <= piece.end && time < graph.total;
    const [left, right, top, bottom] = [x(piece.first), x(piece.end), y(piece.start + piece.bytes), y(piece.start)];
    const gap = bottom - top > 3 && right - left > 3 ? 0.5 : 0;
    (isLive ? live : resting).rect(left, top + gap, Math.max(right - left - gap, 0.7), Math.max(bottom - top - gap, 0.4));
  }
  context.globalAlpha = 0.4;
  context.fillStyle = colours.saved;
  context.fill(resting);
  context.globalAlpha = 0.85;
  context.fill(live);
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.strokeStyle = colours.select;
  for (const piece of memory.pieces) {
    if (!marked.includes(piece.node)) continue;
    const top = y(piece.start + piece.bytes);
    const [wide, high] = [Math.max(x(piece.end) - x(piece.first), 1.5), Math.max(y(piece.start) - top, 1.5)];
    context.fillRect(x(piece.first), top, wide, high);
    context.strokeRect(x(piece.first), top, wide, high);
  }
  context.strokeStyle = colours.ink;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x(time), 0);
  context.lineTo(x(time), height);
  context.stroke();
  const now = time > 0 && time < graph.total ? `now ${byteText(usedAt(memory, time))} · ` : "";
  byName("memory-title").textContent = `${memory.title} · ${now}at most ${byteText(memory.size)}`;
}

const drawMemorySoon = oncePerFrame(drawMemory);

function pieceAt(event) {
  const found = memoryOf();
  if (!found) return null;
  const { memory, graph } = found, canvas = byName("memory");
  const time = (event.offsetX - MARGIN) / (canvas.clientWidth - 2 * MARGIN) * graph.total;
  const bytes = (canvas.clientHeight - event.offsetY) / (canvas.clientHeight - 4) * memory.size;
  const isAt = (piece) => piece.first <= time && time < piece.end && piece.start <= bytes && bytes < piece.start + piece.bytes;
  const piece = memory.pieces.find(isAt);
  if (!piece) return null;
  const node = graph.nodes[piece.node];
  return { piece, node: state.level ? counterpart(node, level()) : node };
}

function startMemory() {
  const canvas = byName("memory");
  canvas.addEventListener("pointermove", (event) => {
    const found = pieceAt(event);
    canvas.style.cursor = found ? "pointer" : "";
    canvas.title = found ? [found.node.label, found.piece.variable, byteText(found.piece.bytes)].filter(Boolean).join(" · ") : "";
    update({ hovered: found?.node ?? null });
  });
  canvas.addEventListener("pointerleave", () => update({ hovered: null }));
  canvas.addEventListener("click", (event) => {
    const found = pieceAt(event);
    if (!found) return;
    update({ selected: found.node });
    showNode(found.node);
  });
  watch(["time", "sheet", "level", "selected", "hovered", "passes"], drawMemorySoon);
  new ResizeObserver(drawMemorySoon).observe(canvas);
}
