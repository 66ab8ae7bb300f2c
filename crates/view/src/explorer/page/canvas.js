// The pointer on the graph: drag, zoom, point at nodes, select them, fold frames.

function nodeAt(x, y) {
  const graph = level();
  const [gx, gy] = toGraph(x, y);
  const near = 3 / camera.scale;
  const isIn = (item) => gx >= item.x - near && gx <= item.x + item.w + near && gy >= item.y - near && gy <= item.y + item.h + near;
  const { nodes } = graph.index(gx - near, gy - near, gx + near, gy + near);
  const found = [...nodes].find((node) => isIn(node) && !(node.group != null && graph.groups[node.group].folded));
  return found ?? graph.nodes.find((node) => node.isHead && isIn(node)) ?? null;
}

// The frame whose title is at a point; a folded frame is all title.
function titleAt(x, y) {
  const [gx, gy] = toGraph(x, y);
  const isIn = (group) => gx >= group.x && gx <= group.x + group.w && gy >= group.y && gy <= group.y + (group.folded ? group.h : 28);
  return camera.scale < TEXT_SCALE ? null : level().groups.find(isIn) ?? null;
}

function startCanvas() {
  const canvas = byName("graph");
  const pointers = new Map();
  let moved = 0, apart = 0;
  const at = (event) => [event.offsetX, event.offsetY];
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at(event));
    moved = 0;
    apart = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const last = pointers.get(event.pointerId);
    if (!last) {
      const hovered = nodeAt(x, y);
      canvas.style.cursor = hovered ? "pointer" : "";
      return update({ hovered });
    }
    pointers.set(event.pointerId, [x, y]);
    moved += Math.abs(x - last[0]) + Math.abs(y - last[1]);
    if (pointers.size === 1) return pan(x - last[0], y - last[1]);
    const [[x0, y0], [x1, y1]] = [...pointers.values()];
    const distance = Math.hypot(x1 - x0, y1 - y0);
    if (apart) zoom(distance / apart, (x0 + x1) / 2, (y0 + y1) / 2);
    apart = distance;
  });
  const end = (event) => {
    const isClick = pointers.delete(event.pointerId) && moved < 4 && event.type === "pointerup";
    if (!isClick) return;
    const [x, y] = at(event);
    const title = titleAt(x, y);
    if (title) {
      title.folded = !title.folded;
      draw();
    }
    update({ selected: nodeAt(x, y) });
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => update({ hovered: null }));
  canvas.addEventListener("dblclick", (event) => zoom(1.8, ...at(event)));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) return pan(-(event.deltaX || event.deltaY) * lines, 0);
    zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), ...at(event));
  }, { passive: false });
  byName("zoom-in").addEventListener("click", () => zoom(1.4));
  byName("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
  byName("zoom-fit").addEventListener("click", fit);
  new ResizeObserver(draw).observe(canvas);
  watch(["selected", "hovered", "time"], draw);
  watch(["sheet", "level"], () => {
    placeCamera(level());
    if (state.selected) showNode(state.selected);
    draw();
  });
}
