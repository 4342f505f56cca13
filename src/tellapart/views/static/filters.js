// The filters above the items: everything that they say stands in the address.
import { element, button } from "../shared/page.js";

const OUTCOMES = { "": "any outcome", r: "right", w: "wrong", wtmf: "not right", t: "tie", m: "mixed", f: "no answer" };
const PATIENCE = 180;

export class Filters {
  constructor(app, items) {
    Object.assign(this, { app, items });
    this.fields = {
      sheet: select("Benchmark"), a: select("Model A"), ao: select("A was", OUTCOMES), b: select("Model B"), bo: select("B was", OUTCOMES),
      sort: select("Sort", app.about.sorts), in: select("Search in", app.about.places),
    };
    this.words = element("input", { type: "search", placeholder: "Search captions", "aria-label": "Search", maxlength: "300" });
    this.facts = element("span", { class: "facts" });
    this.chips = element("p", { class: "chips" });
    const all = button("Show all", () => this.clear(), { class: "quiet" });
    const { sheet, a, ao, b, bo, sort } = this.fields;
    this.box = element("form", { id: "filters", autocomplete: "off", "aria-label": "Filter the items" },
      sheet.box, element("span", { class: "cross" }, a.box, ao.box, b.box, bo.box), this.facts,
      element("label", { class: "search" }, element("span", {}, "Search"), this.words), this.fields.in.box, sort.box, all,
      items.number);
    this.box.addEventListener("submit", (event) => event.preventDefault());
    for (const [name, field] of Object.entries(this.fields)) {
      field.input.addEventListener("change", () => this.set(name, field.input.value));
    }
    this.words.addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.set("q", this.words.value, true), PATIENCE);
    });
  }

  async show(query, about) {
    this.query = query;
    const { sheet, a, b } = this.fields;
    fill(sheet.input, this.app.about.sheets.map((one) => [one.label, one.label]));
    const runs = about.runs.map((one) => [one.label, one.label]);
    fill(a.input, [["", about.runs.length ? "any" : "no runs"], ...runs]);
    fill(b.input, [["", "any"], ...runs]);
    for (const [name, field] of Object.entries(this.fields)) {
      field.input.value = query.get(name) ?? (name === "sheet" ? about.label : name === "sort" ? "order" : name === "in" ? "captions" : "");
    }
    sheet.box.hidden = this.app.about.sheets.length < 2;
    for (const name of ["a", "ao"]) this.fields[name].box.hidden = about.runs.length < 1;
    for (const name of ["b", "bo"]) this.fields[name].box.hidden = about.runs.length < 2;
    this.fields.ao.input.disabled = !a.input.value;
    this.fields.bo.input.disabled = !b.input.value;
    if (document.activeElement !== this.words) this.words.value = query.get("q") ?? "";
    if (this.factsOf !== about.label) await this.drawFacts(about);
    for (const field of this.facts.querySelectorAll("select")) field.value = query.get(`fact.${field.name}`) ?? "";
  }

  async drawFacts(about) {
    this.factsOf = about.label;
    const found = await this.app.source.facts(about.label);
    this.known = found;
    this.facts.replaceChildren(...found.map((fact) => {
      const field = select(fact.name.replaceAll("_", " "));
      field.box.title = fact.about;
      field.input.name = fact.name;
      fill(field.input, [["", "any"], ...fact.values.map((value, k) => [value, `${value} (${fact.counts[k].toLocaleString("en")})`])]);
      field.input.addEventListener("change", () => this.set(`fact.${fact.name}`, field.input.value));
      return field.box;
    }));
  }

  set(name, value, replace = false) {
    const query = new URLSearchParams(this.query);
    if (name === "sheet") for (const key of [...query.keys()]) query.delete(key);
    query.delete("item");
    if (value) query.set(name, value); else query.delete(name);
    if (name === "a" && !value) query.delete("ao");
    if (name === "b" && !value) query.delete("bo");
    this.app.go("items", query, { replace });
  }

  clear() {
    const query = new URLSearchParams();
    query.set("sheet", this.items.about.label);
    this.words.value = "";
    this.app.go("items", query);
  }
}

function select(label, options = {}) {
  const input = element("select", {});
  fill(input, Object.entries(options));
  return { input, box: element("label", {}, element("span", {}, label), input) };
}

function fill(input, options) {
  const text = JSON.stringify(options);
  if (input.dataset.options === text) return;
  input.dataset.options = text;
  input.replaceChildren(...options.map(([value, name]) => element("option", { value }, name)));
}
