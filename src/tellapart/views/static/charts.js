// Charts of the shown items: by any fact, margins, agreement. Plain SVG and tables.
import { element } from "../shared/page.js";
import { count, draw, percent } from "./overview.js";

const SERIES = 6;
export const series = (k) => `series-${(k % SERIES) + 1}`;

export function legend(labels) {
  return element("p", { class: "series" }, ...labels.map((label, k) => element("span", { class: series(k) }, label)));
}

// Shares of right answers with intervals: one row per value, one dot per run.
export function byFact(found, labels, open) {
  const top = Math.max(1, ...found.values.flatMap((value) => value.runs.map((run) => 1.05 * (run.high ?? 0))));
  const at = (value) => `${(1 + (98 * value) / top).toFixed(2)}%`;
  const rows = found.values.map((value) => {
    const dots = value.runs.map((run, k) => (run.value === null ? [] : [
      draw("line", { x1: at(run.low), x2: at(run.high), y1: 6 + 9 * k, y2: 6 + 9 * k, class: `range ${series(k)}` }),
      draw("circle", { cx: at(run.value), cy: 6 + 9 * k, r: 3.5, class: series(k) })])).flat();
    const height = 4 + 9 * Math.max(1, labels.length);
    const svg = draw("svg", { class: "dots", height, "aria-hidden": "true" });
    svg.append(...[0, 0.25, 0.5, 0.75, 1].map((x) => top * x).map((x) => draw("line", { x1: at(x), x2: at(x), y1: 0, y2: height, class: "rule" })), ...dots);
    const said = value.runs.map((run, k) => `${labels[k]} ${percent(run.value)}`).join(", ");
    return element("tr", {}, element("th", { scope: "row" }, element("a", { href: open(value.name) }, value.name)),
      element("td", { class: "num faint" }, count(value.n)), element("td", { class: "wide" }, svg, element("span", { class: "hidden" }, said)));
  });
  return element("table", { class: "by" }, element("caption", { class: "hidden" }, `Right in percent by ${found.by}`), element("tbody", {}, ...rows),
    element("tfoot", {}, element("tr", {}, element("td", {}), element("td", {}), element("td", { class: "wide" }, scale(top)))));
}

// The scale of the chart above, in percent.
function scale(top) {
  const ends = [0, 0.25, 0.5, 0.75, 1].map((x) => element("span", {}, String(Math.round(100 * top * x))));
  return element("span", { class: "scale", "aria-hidden": "true" }, ...ends);
}

// A histogram: wrong left of zero, right on the right.
export function histogram(one, label, judged = true) {
  if (!one) return element("p", { class: "faint" }, `${label}: no scores.`);
  const most = Math.max(...one.counts, 1);
  const width = 100 / one.counts.length;
  const svg = draw("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", class: "histogram", "aria-hidden": "true" });
  svg.append(...one.counts.map((number, k) => draw("rect", { x: k * width + 0.15, width: width - 0.3, y: 40 - (38 * number) / most,
    height: (38 * number) / most, class: !judged ? "plain" : k < one.zero ? "bad" : "good" })),
  draw("line", { x1: one.zero * width, x2: one.zero * width, y1: 0, y2: 40, class: "zero" }));
  const wrong = one.counts.slice(0, one.zero).reduce((a, b) => a + b, 0);
  const all = one.counts.reduce((a, b) => a + b, 0);
  const end = one.low + one.step * one.counts.length;
  return element("figure", { class: "margins" }, element("figcaption", {}, label), svg,
    judged ? element("p", { class: "axis judged" }, element("span", {}, `✗ ${count(wrong)}`), element("span", {}, `${short(one.low)} … 0 … ${short(end)}${one.ties ? `, ${count(one.ties)} ${one.ties === 1 ? "tie" : "ties"}` : ""}`),
      element("span", {}, `${count(all - wrong)} ✓`))
      : element("p", { class: "axis" }, element("span", {}, "0"), element("span", {}, one.ties ? `${count(one.ties)} are 0` : ""), element("span", {}, short(100 * end))));
}

const short = (value) => String(Number(value.toPrecision(2)));

// How often two runs are both right or both not right.
export function agreement(found, labels) {
  const head = element("tr", {}, element("td", {}), ...labels.map((label, k) => element("th", { scope: "col", title: label }, String(k + 1))));
  const rows = found.map((line, i) => element("tr", {}, element("th", { scope: "row" }, `${i + 1} ${labels[i]}`),
    ...line.map((cell, j) => element("td", {
      class: cell.share === null || i === j ? "none" : `heat-${Math.min(9, Math.max(0, Math.round(18 * (cell.share - 0.5))))}`,
      title: cell.kappa === null ? false : `Cohen's kappa ${cell.kappa.toFixed(2)}, ${count(cell.n)} items`,
    }, i === j || cell.share === null ? "" : percent(cell.share, 0)))));
  return element("table", { class: "heat agreement" }, element("caption", {}, "Both right or both not right, in percent"),
    element("thead", {}, head), element("tbody", {}, ...rows));
}
