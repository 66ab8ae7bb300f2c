// Numbers and values in few characters.

// Four significant digits.
function short(value) {
  if (value === 0) return "0";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "-∞" : "∞";
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const [digits, exponent] = value.toExponential(3).split("e").map((part, place) => (place ? Number(part) : part));
  if (exponent >= -4 && exponent < 6) return trimmed(value.toFixed(Math.max(3 - exponent, 0)));
  return `${trimmed(digits)}e${exponent}`;
}

// All digits that tell a number from its neighbours.
const exact = (value) => (Number.isFinite(value) ? (Object.is(value, -0) ? "-0" : String(value)) : short(value));

function byteText(count) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (count >= size) return `${short(count / size)} ${unit}`;
  }
  return `${count} B`;
}

const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

// Elements in nested brackets.
function nested(elements, sizes, format) {
  if (!elements.length) return "[]";
  const slices = sizes.map((_, axis) => sizes.slice(axis).reduce((product, size) => product * size, 1));
  const brackets = (place) => slices.filter((slice) => place % slice === 0).length;
  return elements.map((element, place) => (
    `${place ? ", " : ""}${"[".repeat(brackets(place))}${format(element)}${"]".repeat(brackets(place + 1))}`)).join("");
}

// A value in a box.
function brief(summary) {
  if (summary.symbolic) return "symbolic";
  if (summary.elements) {
    const text = nested(summary.elements, summary.sizes, short);
    if (text.length <= 18 || Number.isNaN(summary.least)) return text;
  }
  const faults = [[summary.nans, "NaN"], [summary.infinities, "∞"]].filter(([count]) => count > 0).map(([, what]) => what);
  const range = Number.isNaN(summary.least) ? [] : [
    summary.least === summary.greatest ? `all ${short(summary.least)}` : `${short(summary.least)} .. ${short(summary.greatest)}`];
  return [...range, ...faults].join(", ");
}

const isFaulty = (summary) => summary != null && (summary.nans > 0 || summary.infinities > 0);

const place = (line) => `${line.file}:${line.line}:${line.column}`;
