/** What the page draws: bars, bits, the curve and the small pictures of neighbors. */

import { paintRow } from "./drawing.js";
import { make } from "./shell.js";
import { visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const MOST_BARS = 12;
const THUMB = 16; // width of the handle of a slider

/** How often each class is among labels, of which one may hold several with semicolons between them. */
export function showCounts(table, classes, labels) {
  const counts = new Map(classes.map((name) => [String(name), 0]));
  for (const label of labels.flatMap((each) => (counts.has(each) ? [each] : each.split(";")))) {
    if (counts.has(label)) counts.set(label, counts.get(label) + 1);
  }
  showBars(table, classes, [...counts.values()], String, 0);
}

/**
 * One line per class: name, bar, score as it is told. Many classes: the highest ones, in order. Without scores: empty
 * bars. A bar begins at the lowest score unless another beginning is said.
 */
export function showBars(table, classes, scores, told = signed, least = null) {
  const known = scores ?? classes.map(() => 0);
  const [low, high] = [least ?? Math.min(...known), Math.max(...known)];
  const best = scores ? scores.indexOf(high) : -1;
  let shown = known.map((_, i) => i);
  if (shown.length > MOST_BARS) shown = shown.sort((i, j) => known[j] - known[i]).slice(0, MOST_BARS);
  const lines = shown.map((i) => {
    const line = make("tr", i === best ? { class: "best" } : {});
    const part = high > low ? Math.max((100 * (known[i] - low)) / (high - low), 0.8) : 0;
    const bar = make("svg", { "aria-hidden": "true" }, "", SVG);
    bar.append(make("rect", { class: "track", width: "100%", height: "100%", rx: 4 }, "", SVG));
    bar.append(make("rect", { class: "fill", width: `${part.toFixed(1)}%`, height: "100%", rx: 4 }, "", SVG));
    const cell = make("td", { class: "bar" });
    cell.append(bar);
    const score = make("td", { class: "score" }, scores ? told(scores[i]) : "");
    line.append(make("th", { scope: "row" }, visible(classes[i])), cell, score);
    return line;
  });
  table.tBodies[0].replaceChildren(...lines);
}

function signed(value) {
  const digits = Math.abs(value) >= 100 ? 0 : 2;
  return value.toFixed(digits).replace("-", "\u2212");
}

/** Bits of a code as squares, filled where 1. The squares have one size at all rates; without a code they are empty. */
export function showBits(canvas, code, nBits, longest) {
  const columns = Math.min(128, Math.max(8, 2 ** Math.ceil(Math.log2(1.5 * longest) / 2))); // whole lines of most codes
  const size = Math.max(5, Math.round(800 / columns));
  const gap = Math.max(1, Math.round(size * 0.14));
  canvas.width = columns * size - gap;
  canvas.height = Math.ceil(nBits / columns) * size - gap;
  const context = canvas.getContext("2d");
  const styles = getComputedStyle(canvas);
  let set = 0;
  for (let i = 0; i < nBits; i++) {
    const one = code ? (code[i >> 3] >> (i & 7)) & 1 : 0;
    set += one;
    context.fillStyle = one ? styles.color : styles.borderTopColor;
    context.fillRect((i % columns) * size, Math.floor(i / columns) * size, size - gap, size - gap);
  }
  canvas.setAttribute("aria-label", code ? `${nBits} bits, ${set} of them set` : `Room for ${nBits} bits`);
}

/**
 * The rate-accuracy curve: a line through the points, a band of intervals, and a mark at the current rate. Rates stand
 * at equal distances, each above its place on the slider below.
 */
export function showCurve(svg, curve, bits) {
  const width = svg.clientWidth || 480;
  const [left, right, top, bottom] = [48, width - 12, 12, 176];
  svg.setAttribute("viewBox", `0 0 ${width} 206`);
  const range = [(p) => p.low ?? p.accuracy, (p) => p.high ?? p.accuracy];
  const { low, high, ticks } = span(Math.min(...curve.map(range[0])), Math.max(...curve.map(range[1])));
  const x = (i) => left + THUMB / 2 + ((right - left - THUMB) * i) / Math.max(curve.length - 1, 1);
  const y = (accuracy) => bottom - ((bottom - top) * (accuracy - low)) / (high - low);
  const add = (name, attributes, text = "") => svg.append(make(name, attributes, text, SVG));
  const points = (value) => curve.map((point, i) => `${x(i).toFixed(1)},${y(value(point)).toFixed(1)}`);
  svg.replaceChildren();
  for (const tick of ticks) {
    add("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) });
    add("text", { class: "tick", x: left - 10, y: y(tick) + 4, "text-anchor": "end" }, percent(tick));
  }
  add("polygon", { class: "band", points: [...points(range[1]), ...points(range[0]).reverse()].join(" ") });
  add("polyline", { class: "line", points: points((p) => p.accuracy).join(" ") });
  const every = Math.ceil((38 * curve.length) / (right - left)); // so that labels have room
  curve.forEach((point, i) => {
    const now = point.bits === bits;
    if (now) add("line", { class: "now-line", x1: x(i), x2: x(i), y1: y(point.accuracy), y2: bottom });
    add("circle", { class: now ? "now" : "point", cx: x(i), cy: y(point.accuracy), r: now ? 7 : 3 });
    const label = { class: now ? "tick chosen" : "tick", x: x(i), y: bottom + 22, "text-anchor": "middle" };
    if (now || (curve.length - 1 - i) % every === 0) add("text", label, String(point.bits));
  });
}

/** Round limits around two accuracies, and three to six round numbers between. */
function span(least, most) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2].find((size) => (most - least) / size <= 4) ?? 0.25;
  const low = Math.max(0, Math.floor((least - 1e-9) / step) * step);
  const high = Math.max(low + step, Math.min(1, Math.ceil((most - 1e-9) / step) * step));
  const ticks = [];
  for (let i = 0; low + i * step <= high + 1e-9; i++) ticks.push(low + i * step);
  return { low, high, ticks };
}

export function percent(share, digits = 0) {
  return `${(100 * share).toFixed(digits)}\u202f%`;
}

/** The nearest examples of the first row: pictures if there are rows to draw, else their ids; `told` of a similarity. */
export function showNear(list, found, input, told) {
  const [ids, similarity, labels, rows] = ["ids", "similarity", "labels", "rows"].map((name) => found[name]?.[0]);
  const drawn = rows && ["drawing", "image"].includes(input?.type);
  const items = ids.map((id, i) => {
    const item = make("li");
    if (drawn) item.append(make("canvas", { role: "img", "aria-label": `Example ${visible(id)}` }));
    else item.append(make("span", { class: "id" }, visible(id)));
    const label = labels?.[i] ?? null;
    if (label !== null) item.append(make("span", { class: "label" }, visible(label)));
    item.append(make("span", { class: "hint" }, told(similarity[i])));
    for (const [name, values] of Object.entries(found.data ?? {})) {
      const value = values[0][i];
      if (value !== null) item.append(make("span", { class: "hint" }, `${visible(name)}: ${visible(String(value))}`));
    }
    return item;
  });
  list.replaceChildren(...items);
  // after they are in the page: the color comes from its style
  if (drawn) items.forEach((item, i) => paintRow(item.querySelector("canvas"), rows[i], input));
}
