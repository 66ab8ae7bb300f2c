// The colours of the drawings are those of the style sheet.

let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "panel", "ink", "quiet", "faint", "line", "forward", "adjoint", "saved", "result", "kernel", "fault",
    "leaf-fill", "operation-fill", "result-fill", "rule-fill", "kernel-fill", "frame-fill", "select"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// The fill and the border of a box.
function look(node) {
  if (node.fromRule) return [colours["rule-fill"], colours.adjoint];
  switch (node.kind) {
    case "leaf": return [colours["leaf-fill"], colours.forward];
    case "output": return [colours["result-fill"], colours.result];
    case "kernel": return [colours["kernel-fill"], colours.kernel];
    case "collapsed": return [colours["kernel-fill"], colours.ink];
    default: return [colours["operation-fill"], colours.quiet];
  }
}

const MEANINGS = { leaf: "Leaf or input", constant: "Constant", operation: "Operation", output: "Result", kernel: "Kernel",
  collapsed: "Several nodes" };

// Light, dark, or what the system prefers.
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  themeChanged();
}

const themeWatchers = [];

function themeChanged() {
  readColours();
  byName("theme").textContent = isDark() ? "☀" : "☾";
  for (const action of themeWatchers) action();
}
