// The filters above the items; their whole state is in the address.
import { element, button } from "../shared/page.js";

const OUTCOMES = { "": "any outcome", r: "right", w: "wrong", wtmf: "not right", t: "tie", m: "mixed", f: "no answer" };
const PATIENCE = 180;
const FEW = 2;

export class Filters {
  // `part` is the filters' tab, which provides `about`, `number` and `query`.
  constructor(app, part, tab = "items") {
    Object.assign(this, { app, part, tab });
    this.fields = {
      sheet: select("Benchmark"), a: select("Model A"), ao: select("A was", OUTCOMES), b: select("Model B"), bo: select("B was", OUTCOMES),
      sort: select("Sort"), in: select("Search in"),
    };
    this.words = element("input", { type: "search", placeholder: "Search captions", "aria-label": "Search", maxlength: "300" });
    this.facts = element("span", { class: "facts" });
    this.starred = element("input", { type: "checkbox" });
    this.starred.addEventListener("change", () => this.set("starred", this.starred.checked ? "1" : ""));
    const more = button("More filters", () => {
      const on = this.box.classList.toggle("all");
      more.setAttribute("aria-expanded", String(on));
      more.textContent = on ? "Fewer filters" : "More filters";
    }, { class: "quiet", "aria-expanded": "false" });
    const all = button("Show all", () => this.clear(), { class: "quiet reset" });
    const { sheet, a, ao, b, bo, sort } = this.fields;
    this.box = element("form", { id: "filters", autocomplete: "off", "aria-label": "Filter the items" },
      sheet.box, element("span", { class: "cross" }, a.box, ao.box, b.box, bo.box), this.facts,
      element("label", { class: "search" }, element("span", {}, "Search"), this.words), this.fields.in.box,
      tab === "items" ? sort.box : "", element("label", { class: "check" }, this.starred, element("span", {}, "starred")), more, all,
      element("span", { class: "end" }, part.number, tab === "items" ? button("Use these items …", () => part.use(), { class: "quiet" }) : ""));
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
    fill(this.fields.sort.input, Object.entries(about.sorts));
    fill(this.fields.in.input, Object.entries(about.places));
    for (const [name, field] of Object.entries(this.fields)) {
      field.input.value = name === "sheet" ? about.label : query.get(name) ?? (name === "sort" ? "order" : name === "in" ? "captions" : "");
    }
    sheet.box.hidden = this.app.about.sheets.length < 2;
    const judged = about.form === "grids"; // captions are neither right nor wrong
    for (const name of ["a", "ao"]) this.fields[name].box.hidden = about.runs.length < 1 || (name === "ao" && !judged);
    for (const name of ["b", "bo"]) this.fields[name].box.hidden = about.runs.length < 2 || (name === "bo" && !judged);
    this.fields.ao.input.disabled = !a.input.value;
    this.fields.bo.input.disabled = !b.input.value;
    this.starred.checked = query.get("starred") === "1";
    if (document.activeElement !== this.words) this.words.value = query.get("q") ?? "";
    if (this.factsOf !== about.label) await this.drawFacts(about);
    for (const field of this.facts.querySelectorAll("select")) field.value = query.get(`fact.${field.name}`) ?? "";
    for (const field of this.box.querySelectorAll("select")) field.closest("label").classList.toggle("on", field !== this.fields.in.input && field !== this.fields.sort.input && field.value !== "");
    for (const name of ["a", "ao"]) this.fields[name].box.classList.add("main");
  }

  async drawFacts(about) {
    this.factsOf = about.label;
    const found = await this.app.source.facts(about.label);
    this.known = found;
    this.facts.replaceChildren(...found.map((fact, k) => {
      const field = select(fact.name.replaceAll("_", " "));
      field.box.title = fact.about;
      if (k >= FEW) field.box.classList.add("more");
      field.input.name = fact.name;
      fill(field.input, [["", "any"], ...fact.values.map((value, place) => [value, `${value} (${fact.counts[place].toLocaleString("en")})`])]);
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
    this.app.go(this.tab, query, { replace });
  }

  clear() {
    const query = new URLSearchParams();
    query.set("sheet", this.part.about.label);
    this.words.value = "";
    this.app.go(this.tab, query);
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
