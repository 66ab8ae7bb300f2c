// The slider over the steps of the forward and the reverse pass.

// A small graph takes a while for each step, a large one this many seconds in all.
const SECONDS_PER_STEP = 0.6, MOST_SECONDS = 20;

let playback = null;

function play() {
  const graph = level();
  const time = state.time >= graph.total ? 0 : state.time;
  update({ playing: true, time });
}

const pause = () => update({ playing: false });
const togglePlay = () => (state.playing ? pause() : play());
const step = (count) => update({ playing: false, time: Math.min(level().total, Math.max(0, state.time + count)) });

function runPlayback() {
  if (!state.playing) return void (playback = null);
  const own = (playback = {});
  let exactTime = state.time, last = performance.now();
  const frame = (now) => {
    if (playback !== own) return;
    const { total } = level();
    const perSecond = Math.max(1 / SECONDS_PER_STEP, total / MOST_SECONDS) * Number(byName("speed").value);
    // A frame may begin before the moment that it was asked for.
    exactTime = Math.min(total, exactTime + Math.max(0, now - last) / 1000 * perSecond);
    last = now;
    update({ time: Math.floor(exactTime) });
    const node = current(level(), state.time);
    if (node) follow(node);
    if (state.time >= total) return pause();
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

// What happens at this moment, in words.
function momentText(graph, time) {
  if (graph.total === 0) return "Nothing is recorded";
  if (time === 0) return "Start";
  if (time === graph.total) return `End · ${counted(graph.nodes.length, "node")}`;
  const node = current(graph, time);
  if (time > graph.forward) return `Reverse ${time - graph.forward} of ${graph.swept.length} · ${node.label}`;
  const phase = node.fromRule ? "Derivative" : "Forward";
  return `${phase} ${time} of ${graph.forward} · ${node.label}`;
}

function showMoment() {
  const graph = level(), slider = byName("time");
  slider.max = graph.total;
  slider.value = state.time;
  const text = momentText(graph, state.time);
  byName("moment").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  // Rules of a compiled gradient are its reverse pass.
  const derivative = graph.swept.length ? graph.forward : graph.nodes.findIndex((node) => node.fromRule);
  const share = derivative < 0 ? 1 : derivative / Math.max(graph.total, 1);
  byName("phases").style.setProperty("--forward-share", `${100 * share}%`);
  byName("phases").style.setProperty("--done", `${100 * state.time / Math.max(graph.total, 1)}%`);
}

function startPlayer() {
  byName("play").addEventListener("click", togglePlay);
  byName("time").addEventListener("input", () => update({ playing: false, time: Number(byName("time").value) }));
  watch(["time", "sheet", "level"], showMoment);
  watch(["playing"], () => {
    byName("play").textContent = state.playing ? "❚❚" : "▶";
    byName("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
    runPlayback();
  });
  byName("play").textContent = "▶";
  showMoment();
}
