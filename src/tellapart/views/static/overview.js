// The overview: every run on every benchmark, with lines for chance and what the text alone gives away.
import { element } from "../shared/page.js";

const LOOK_AGAIN = 1500;
export const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : (100 * share).toFixed(digits));
export const count = (number) => number.toLocaleString("en");

export class Overview {
  constructor(app) {
    this.app = app;
  }

  async enter(main) {
    this.main = main;
    this.box = element("div", { class: "sheets" });
    const problems = this.app.about.problems;
    main.append(element("h1", {}, "Overview"),
      problems.length ? element("details", { class: "problems", open: problems.length < 4 },
        element("summary", {}, `${count(problems.length)} could not be read`),
        element("ul", {}, ...problems.map((one) => element("li", {}, one)))) : "", this.box);
    await this.draw();
  }

  async change() {
    await this.draw();
  }

  leave() {
    clearTimeout(this.timer);
  }

  async draw() {
    clearTimeout(this.timer);
    const found = await this.app.source.overview();
    this.box.replaceChildren(...found.map((one) => this.sheet(one)));
    if (found.some((one) => one.pending)) this.timer = setTimeout(() => this.draw(), LOOK_AGAIN);
  }

  sheet(one) {
    const about = this.app.sheet(one.sheet);
    const link = (query) => this.app.link("items", { sheet: one.sheet, ...query });
    const facts = about.form === "captions" ? [`${count(about.items)} images`] : [`${count(about.items)} items`, `${count(about.images)} pictures`,
      about.verified ? `verified ${about.verified}` : "not verified"];
    return element("section", { class: "sheet", "aria-label": one.sheet },
      element("header", {}, element("h2", {}, element("a", { href: link({}) }, one.sheet)),
        element("p", { class: "faint" }, facts.join(" · "))),
      about.about ? element("p", { class: "about" }, about.about) : "",
      one.rows.length ? this.table(one, link) : element("p", { class: "faint" }, "No runs: see its ",
        element("a", { href: link({}) }, "items"), "."));
  }

  worst(row, one, link) {
    const captions = this.app.sheet(one.sheet).form === "captions";
    const query = captions ? { a: row.label, sort: "margin" } : { a: row.label, ao: "w", sort: "margin" };
    return element("a", { href: link(query), "aria-label": `What ${row.label} got wrong on ${one.sheet}` },
      captions ? "lowest scores" : "what it got wrong");
  }

  table(one, link) {
    const rows = one.rows.map((row) => element("tr", { class: row.reference ? "reference" : false },
      element("th", { scope: "row" }, element("a", { href: link({ a: row.label }) }, row.label),
        row.live ? element("span", { class: "tag" }, "running") : ""),
      element("td", { class: "num" }, percent(row.value)),
      element("td", { class: "num faint" }, row.value === null ? "" : `${percent(row.low)} – ${percent(row.high)}`),
      element("td", { class: "strip" }, row.value === null ? "" : strip(row, one.lines, one.top)),
      element("td", { class: "num faint" }, row.n ? notes(row) : ""),
      element("td", {}, row.value === null ? "" : this.worst(row, one, link))));
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Runs on ${one.sheet}` },
      element("table", { class: "runs" }, element("thead", {}, element("tr", {},
        ...["run", one.measure, "95% interval"].map((head) => element("th", { scope: "col" }, head)),
        element("th", { scope: "col" }, lines(one)),
        ...["", ""].map(() => element("td", {})))),
      element("tbody", {}, ...rows)));
  }
}

function notes(row) {
  if (row.more) return [...row.more.map(([name, value]) => `${name} ${percent(value)}`), `n ${count(row.n)}`].join(", ");
  const parts = [`n ${count(row.n)}`];
  if (row.ties) parts.push(`${count(row.ties)} ${row.ties === 1 ? "tie" : "ties"}`);
  if (row.failed) parts.push(`${count(row.failed)} failed`);
  return parts.join(", ");
}

function lines(one) {
  const parts = one.lines.map((line, k) => element("span", { class: `line-${Math.min(k, 1)}`, title: line.note || false },
    `${line.label} ${percent(line.value)}`));
  return element("span", { class: "legend" }, ...parts, one.pending ? element("span", { class: "faint" }, "guessing …") : "");
}

// A value with its interval on a scale from 0 to `top`, with reference lines.
function strip(row, through, top) {
  const at = (value) => `${(1 + (98 * value) / top).toFixed(2)}%`;
  const svg = draw("svg", { "aria-hidden": "true", height: 18 });
  svg.append(draw("line", { x1: at(0), x2: at(top), y1: 9, y2: 9, class: "rail" }),
    ...through.map((line, k) => draw("line", { x1: at(line.value), x2: at(line.value), y1: 1, y2: 17, class: `line-${Math.min(k, 1)}` })),
    draw("line", { x1: at(row.low), x2: at(row.high), y1: 9, y2: 9, class: "range" }),
    draw("circle", { cx: at(row.value), cy: 9, r: 4.5, class: "dot" }));
  return svg;
}

export function draw(name, attributes, ...inside) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}
