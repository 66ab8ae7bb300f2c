// A program before and after a pass, side by side. Long runs of equal lines are closed until asked for.

const SAME = 0, CHANGED = 1, REMOVED = 2, ADDED = 3;
const AROUND = 3;

const passes = { pair: 0, opened: new Set() };

// Lines in pairs: numbers on both sides, and what became of them.
function passRows([, , runs]) {
  let [left, right] = [0, 0];
  return runs.flatMap(([kind, count]) => Array.from({ length: count }, () => ({
    kind, left: kind === ADDED ? null : left++, right: kind === REMOVED ? null : right++ })));
}

function passLine(stage, number, kind) {
  const text = number == null ? "" : data.passes.texts[stage.lines[number]];
  const name = ["same", "changed", "removed", "added"][kind];
  const nothing = number == null ? " nothing" : "";
  return [element("span", { class: "count" }, number == null ? "" : String(number + 1)), element("code", { class: name + nothing }, text)];
}

function passTable(pair) {
  const [left, right] = [data.passes.stages[pair[0]], data.passes.stages[pair[1]]];
  const rows = passRows(pair);
  const line = (row) => element("div", { class: "row" }, ...passLine(left, row.left, row.kind), ...passLine(right, row.right, row.kind));
  const shown = [];
  for (let start = 0; start < rows.length;) {
    let end = start;
    while (end < rows.length && (rows[end].kind === SAME) === (rows[start].kind === SAME)) end += 1;
    const [first, last] = [start === 0 ? start : start + AROUND, end === rows.length ? end : end - AROUND];
    if (rows[start].kind !== SAME || last - first < 4 || passes.opened.has(start)) {
      shown.push(...rows.slice(start, end).map(line));
    } else {
      shown.push(...rows.slice(start, first).map(line));
      const own = start;
      const open = () => {
        passes.opened.add(own);
        showPasses();
      };
      shown.push(element("button", { class: "closed", click: open }, `${last - first} equal lines`));
      shown.push(...rows.slice(last, end).map(line));
    }
    start = end;
  }
  return element("div", { class: "texts", tabindex: "0" }, ...shown);
}

function equations(stage) {
  return stage.lines.filter((line) => / = (?!.* elements$)/.test(data.passes.texts[line]) && !/^\s*const /.test(data.passes.texts[line])).length;
}

function showPasses() {
  const { pairs, stages } = data.passes;
  const pair = pairs[passes.pair];
  const change = ([from, to]) => {
    const difference = equations(stages[to]) - equations(stages[from]);
    return difference > 0 ? `+${difference}` : difference < 0 ? `−${-difference}` : "±0";
  };
  const choose = (place) => () => {
    passes.pair = place;
    passes.opened.clear();
    showPasses();
  };
  const name = ([from, to]) => (to - from === 1 ? stages[to].name.replace(/^after /, "") : "all passes");
  const buttons = pairs.map((one, place) => element("button", { role: "tab", "aria-selected": String(place === passes.pair), click: choose(place) },
    name(one), element("span", { class: "quiet" }, ` ${change(one)}`)));
  const heading = (stage) => element("h2", {}, stage.name, element("span", { class: "quiet" }, ` ${counted(equations(stage), "equation")}`));
  const only = () => [element("p", { class: "note" }, "No pass changes this program."),
    element("div", { class: "texts" }, ...stages[0].lines.map((_, line) => element("div", { class: "row" }, ...passLine(stages[0], line, SAME))))];
  const body = pair ? [element("p", { class: "about" }, pair[1] - pair[0] === 1 ? stages[pair[1]].about : "from the traced program to the one that runs"),
    element("div", { class: "headings" }, heading(stages[pair[0]]), heading(stages[pair[1]])), passTable(pair)] : only();
  byName("passes").replaceChildren(element("nav", { role: "tablist", "aria-label": "Passes" }, ...buttons), ...body);
}

function startPasses() {
  watch(["passes"], () => {
    byName("passes").hidden = !state.passes;
    byName("stage").hidden = byName("card").hidden = byName("player").hidden = state.passes;
    byName("levels").classList.toggle("away", state.passes);
    if (state.passes) showPasses();
    else draw();
  });
}
