// Charts and a comparison of two runs on the filtered items.
import { element } from "../shared/page.js";
import { asked } from "./address.js";
import { agreement, byFact, histogram, legend, series } from "./charts.js";
import { Filters } from "./filters.js";
import { count, percent } from "./overview.js";

export class Compare {
  constructor(app) {
    this.app = app;
  }

  async enter(main, query) {
    this.number = element("output", { id: "count", "aria-live": "polite" });
    this.filters = new Filters(this.app, this, "compare");
    this.box = element("div", { class: "charts", tabindex: "0", role: "region", "aria-label": "Charts of the filtered items" });
    main.append(element("h1", { class: "hidden" }, "Compare"), this.filters.box, this.box);
    await this.change(query);
  }

  async change(query) {
    this.query = query;
    this.about = this.app.sheet(query.get("sheet"));
    await this.filters.show(query, this.about);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const wanted = asked(query);
    wanted.set("sheet", this.about.label);
    const facts = this.filters.known;
    const by = query.get("by") ?? (facts.some((one) => one.name === "kind") ? "kind" : facts[0]?.name ?? "");
    const pair = this.pair(query);
    const two = new URLSearchParams(wanted);
    if (pair) { two.set("a", pair[0]); two.set("b", pair[1]); }
    const [found, paired] = await Promise.all([this.app.source.summary(wanted, by), pair ? this.app.source.compare(two) : null]);
    if (turn !== this.turn) return;
    this.number.value = `${count(found.n)} of ${count(this.about.items)}`;
    const labels = this.about.runs.map((one) => one.label);
    const captions = this.about.form === "captions";
    this.box.replaceChildren(
      paired ? this.paired(paired, pair, wanted) : "",
      found.values.length && labels.length ? element("section", { class: "sheet" }, element("header", {}, element("h2", {}, captions ? `${this.about.measure}, by` : "Right, by"),
        this.facts(facts, by)), legend(labels), byFact(found, labels, (value) => this.link({ [`fact.${by}`]: value }))) : "",
      labels.length ? element("section", { class: "sheet" }, element("h2", {}, captions ? "Scores" : "Margins"),
        element("p", { class: "faint" }, captions ? `${this.about.measure} of each image’s caption.` : "By how much the right options score higher than the wrong ones; items left of the line are wrong."),
        element("div", { class: "histograms" }, ...found.margins.map((one, k) => histogram(one, labels[k], !captions)))) : element("p", { class: "calm" }, "There are no runs on this benchmark, so there is nothing to compare."),
      labels.length > 1 && !captions ? element("section", { class: "sheet" }, element("h2", {}, "Agreement"),
        element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Agreement" }, agreement(found.agreement, labels))) : "");
  }

  // The chosen runs, else the first two.
  pair(query) {
    const labels = this.about.runs.map((one) => one.label);
    if (labels.length < 2) return null;
    const a = query.get("a") || labels.find((one) => one !== query.get("b"));
    const b = query.get("b") || labels.find((one) => one !== a);
    return [a, b];
  }

  facts(facts, by) {
    const field = element("select", { "aria-label": "Break down by" }, ...facts.map((one) => element("option", { value: one.name }, one.name.replaceAll("_", " "))));
    field.value = by;
    field.addEventListener("change", () => {
      const query = new URLSearchParams(this.query);
      query.set("by", field.value);
      this.app.go("compare", query, { replace: true });
    });
    return field;
  }

  link(more, tab = "items") {
    const query = new URLSearchParams(this.query);
    query.set("sheet", this.about.label);
    query.delete("by");
    for (const [name, value] of Object.entries(more)) query.set(name, value);
    return this.app.link(tab, query);
  }

  // A run's name in its colour in the charts.
  named(label) {
    return element("span", { class: series(this.about.runs.findIndex((one) => one.label === label)) }, label);
  }

  paired(found, [a, b]) {
    const link = (ao, bo) => this.link({ a, b, ao, bo });
    const cell = (number, href, label, kind) => element("td", { class: kind }, element("a", { href, "aria-label": `${label}: ${count(number)} items` }, count(number)));
    const nothing = found.difference === null ? "The two runs have none of these items in common." : null;
    return element("section", { class: "sheet versus" },
      element("h2", {}, this.named(a), " against ", this.named(b)),
      nothing ? element("p", {}, nothing) : element("p", { class: "difference" },
        element("b", {}, `${found.difference >= 0 ? "+" : "−"}${percent(Math.abs(found.difference))} points`),
        ` (95% interval ${sign(found.low)} to ${sign(found.high)}), on ${count(found.n)} items in ${count(found.groups)} groups: `,
        `${percent(found.first.value)} against ${percent(found.second.value)}. `,
        found.low > 0 || found.high < 0 ? "The interval excludes zero." : "The interval includes zero: it may be noise."),
      found.level !== undefined ? this.higher(found, [a, b]) : element("table", { class: "two" }, element("caption", { class: "hidden" }, "Items by the outcomes of the two runs"),
        element("thead", {}, element("tr", {}, element("td", {}), element("th", { scope: "col" }, `${b} right`), element("th", { scope: "col" }, `${b} not right`))),
        element("tbody", {},
          element("tr", {}, element("th", { scope: "row" }, `${a} right`), cell(found.both, link("r", "r"), "Both right", "both"),
            cell(found.only_a, link("r", "wtmf"), `Won by ${a}`, "won")),
          element("tr", {}, element("th", { scope: "row" }, `${a} not right`), cell(found.only_b, link("wtmf", "r"), `Lost by ${a}`, "lost"),
            cell(found.neither, link("wtmf", "wtmf"), "Neither right", "neither")))));
  }

  // Captions are neither right nor wrong: count the images on which each run scores higher.
  higher(found, [a, b]) {
    const go = (first, second, number, label) => element("a", { href: this.link({ a: first, b: second, sort: "gap" }) }, `${label}: ${count(number)}`);
    return element("p", { class: "higher" }, go(b, a, found.higher, `${a} higher`), " · ", go(a, b, found.lower, `${b} higher`), ` · level: ${count(found.level)}`);
  }
}

const sign = (value) => `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`;
