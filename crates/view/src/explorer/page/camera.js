// What part of the graph is seen: the point in the middle, and the scale.

const camera = { x: 0, y: 0, scale: 1 };
const LEAST_SCALE = 0.0005, MOST_SCALE = 4;
let flight = null;

const canvasSize = () => ({ width: byName("graph").clientWidth, height: byName("graph").clientHeight });

function toScreen(x, y) {
  const { width, height } = canvasSize();
  return [(x - camera.x) * camera.scale + width / 2, (y - camera.y) * camera.scale + height / 2];
}

function toGraph(x, y) {
  const { width, height } = canvasSize();
  return [(x - width / 2) / camera.scale + camera.x, (y - height / 2) / camera.scale + camera.y];
}

function moveCamera(change) {
  flight = null;
  Object.assign(camera, change);
  draw();
}

function pan(dx, dy) {
  moveCamera({ x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale });
}

// Zooms around a point of the screen, which stays where it is.
function zoom(factor, x = canvasSize().width / 2, y = canvasSize().height / 2) {
  const [fixedX, fixedY] = toGraph(x, y);
  const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, camera.scale * factor));
  const { width, height } = canvasSize();
  moveCamera({ scale, x: fixedX - (x - width / 2) / scale, y: fixedY - (y - height / 2) / scale });
}

// Flies to a place, or jumps there if motion is unwelcome.
function flyTo(goal) {
  const start = { ...camera };
  if (isCalm() || document.hidden) return moveCamera(goal);
  const begin = performance.now();
  const own = (flight = {});
  const frame = (now) => {
    if (flight !== own) return;
    const share = Math.min(1, (now - begin) / 260);
    const eased = 1 - (1 - share) ** 3;
    for (const field of Object.keys(goal)) camera[field] = start[field] + (goal[field] - start[field]) * eased;
    draw();
    if (share < 1) requestAnimationFrame(frame);
    else flight = null;
  };
  requestAnimationFrame(frame);
}

// The scale at which everything is seen.
function fitScale(graph) {
  const { width, height } = canvasSize();
  return Math.min(1.1, (width - 48) / Math.max(graph.width, 1), (height - 48) / Math.max(graph.height, 1));
}

// Everything, or the end of a graph that is too large to be read as a whole.
function placeCamera(graph) {
  const scale = fitScale(graph);
  const { height } = canvasSize();
  if (scale >= 0.3) return moveCamera({ x: graph.width / 2, y: graph.height / 2, scale });
  const last = graph.nodes[graph.nodes.length - 1];
  moveCamera({ x: last.x + last.w / 2, y: last.y + last.h - (height / 2 - 60) / 0.8, scale: 0.8 });
}

const fit = () => flyTo({ x: level().width / 2, y: level().height / 2, scale: fitScale(level()) });

function center(node) {
  const y = node.isHead ? node.y + 14 : node.y + node.h / 2;
  return { x: node.x + node.w / 2, y };
}

const showNode = (node) => flyTo({ ...center(node), scale: Math.max(camera.scale, 0.7) });

// Moves as little as needed to see a node.
function follow(node) {
  const { width, height } = canvasSize();
  const { x, y } = center(node);
  const [screenX, screenY] = toScreen(x, y);
  if (screenX < 90 || screenX > width - 90 || screenY < 70 || screenY > height - 70) flyTo({ x, y });
}
