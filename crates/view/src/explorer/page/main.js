// Puts the parts together.

function showTabs() {
  const tab = (text, isChosen, action) => element("button", { role: "tab", "aria-selected": String(isChosen), click: action }, text);
  const tabs = sheets.map((one, place) => tab(one.name, !state.passes && place === state.sheet, () => showSheet(place)));
  if (data.passes) tabs.push(tab("Passes", state.passes, () => update({ passes: true })));
  byName("sheets").replaceChildren(...(tabs.length > 1 ? tabs : []));
  const names = sheet().levelNames;
  const levels = names.map((name, place) => element("button", { "aria-pressed": String(place === state.level),
    title: place ? `Collapse: ${name.toLowerCase()}` : "Every node", click: () => showLevel(place) }, name));
  byName("levels").replaceChildren(...(names.length > 1 ? levels : []));
}

// What the reader must know before anything else.
function showNotice() {
  const isUrgent = (text) => /record_values|error/.test(text) || (text.startsWith("Collapsed") && state.level === 0);
  const notes = level().notes.filter(isUrgent);
  byName("notice").hidden = !notes.length;
  byName("notice").textContent = notes.join(" ");
}

byName("title").textContent = data.title;
state.time = level().total;
themeChanged();
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
byName("theme").addEventListener("click", toggleTheme);
byName("help-button").addEventListener("click", showHelp);
themeWatchers.push(draw, drawMemorySoon);
startCanvas();
startOverview();
startPlayer();
startMemory();
startCard();
startSearch();
startPasses();
startKeyboard();
watch(["sheet", "level", "passes"], showTabs);
watch(["sheet", "level"], showNotice);
showTabs();
showNotice();
placeCamera(level());
drawMemory();
requestAnimationFrame(() => {
  drawGraph();
  // For tests: how long it took until the page could be used, in milliseconds.
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
});
