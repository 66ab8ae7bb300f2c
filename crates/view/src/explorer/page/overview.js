// The whole graph in a corner, stretched to fit, with a frame around what is seen. It is hidden while everything is seen.

const overview = { graph: null, picture: null, width: 120, height: 150 };

function overviewPicture(graph) {
  const ratio = window.devicePixelRatio || 1;
  const picture = element("canvas", { width: overview.width * ratio, height: overview.height * ratio });
  const context = picture.getContext("2d");
  context.scale(ratio, ratio);
  for (const node of graph.nodes) {
    if (node.isHead) continue;
    const [x, y] = [overviewX(graph, node.x), overviewY(graph, node.y)];
    context.fillStyle = node.kind === "operation" && !node.fromRule ? colours.quiet : look(node)[1];
    context.globalAlpha = 0.75;
    context.fillRect(x, y, Math.max(1.2, overviewX(graph, node.x + node.w) - x), Math.max(1, overviewY(graph, node.y + node.h) - y - 0.5));
  }
  return picture;
}

// A narrow graph stays narrow, but can still be seen.
function overviewX(graph, x) {
  const own = graph.width * (overview.height - 12) / Math.max(graph.height, 1);
  const wide = Math.min(overview.width - 12, Math.max(24, own));
  return (overview.width - wide) / 2 + x / Math.max(graph.width, 1) * wide;
}

const overviewY = (graph, y) => 6 + y / Math.max(graph.height, 1) * (overview.height - 12);

function drawOverview() {
  const graph = level(), canvas = byName("overview");
  const [left, top] = toGraph(0, 0), [right, bottom] = toGraph(canvasSize().width, canvasSize().height);
  canvas.hidden = left <= 0 && top <= 0 && right >= graph.width && bottom >= graph.height;
  if (canvas.hidden) return;
  if (overview.graph !== graph) [overview.graph, overview.picture] = [graph, overviewPicture(graph)];
  const { context, width, height } = fitted(canvas);
  context.drawImage(overview.picture, 0, 0, width, height);
  const clamp = (value, most) => Math.min(most - 2, Math.max(2, value));
  const [x, y] = [clamp(overviewX(graph, left), width), clamp(overviewY(graph, top), height)];
  const [wide, high] = [clamp(overviewX(graph, right), width) - x, clamp(overviewY(graph, bottom), height) - y];
  context.strokeStyle = colours.select;
  context.lineWidth = 1.5;
  context.strokeRect(x, y, Math.max(wide, 4), Math.max(high, 4));
}

function startOverview() {
  const canvas = byName("overview");
  themeWatchers.push(() => { overview.graph = null; });
  const go = (event) => {
    if (!event.buttons) return;
    const graph = level();
    const [x0, x1] = [overviewX(graph, 0), overviewX(graph, graph.width)];
    const x = Math.min(1, Math.max(0, (event.offsetX - x0) / (x1 - x0)));
    moveCamera({ x: x * graph.width, y: Math.min(1, Math.max(0, (event.offsetY - 6) / (overview.height - 12))) * graph.height });
  };
  canvas.addEventListener("pointerdown", go);
  canvas.addEventListener("pointermove", go);
}
