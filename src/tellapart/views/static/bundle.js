// The data source of a bundle's page: the files beside it. Filters, sorting and search run here, with the
// same rules as `query.py` and `summary.py` on the server; a test compares the two.
import { pairedOf, shareOf, agreementOf, histogramOf } from "./statistics.js";

const RIGHT = "r";
const UNASKED = "-";
const KEPT = "tellapart-marks:";

async function json(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path} is missing (${answer.status}). A bundle must be opened through a file server.`);
  return answer.json();
}

export class BundleSource {
  constructor(about) {
    Object.assign(this, { bundle: true, known: about, sheets: new Map(), pages: new Map(), results: new Map() });
  }

  static async open() {
    const source = new BundleSource(await json("data/about.json"));
    if (!location.hash) {
      const { at } = await json("at.json");
      if (at) history.replaceState(null, "", `#${at}`);
    }
    return source;
  }

  about() {
    for (const sheet of this.known.sheets) {
      Object.assign((this.known.marks[sheet.label] ??= {}), JSON.parse(localStorage.getItem(KEPT + sheet.sha256) ?? "{}"));
    }
    return this.known;
  }

  overview() { return json("data/overview.json"); }

  place(label) { return Math.max(0, this.known.sheets.findIndex((one) => one.label === label)); }

  // The columns of a sheet, read once.
  sheet(label) {
    const place = this.place(label);
    if (!this.sheets.has(place)) this.sheets.set(place, this.load(place));
    return this.sheets.get(place);
  }

  async load(place) {
    const [columns, facts, numbers] = await Promise.all([json(`data/${place}/columns.json`), json(`data/${place}/facts.json`),
      fetch(`data/${place}/numbers.bin`).then((answer) => answer.arrayBuffer())]);
    const about = this.known.sheets[place];
    const [n, runs] = [columns.ids.length, about.runs.length];
    const all = new Float32Array(numbers);
    const part = (k, run) => all.subarray((k * runs + run) * n, (k * runs + run + 1) * n);
    const list = (k) => about.runs.map((_, run) => part(k, run));
    return { ...columns, ...facts, n, place, about, margins: list(0), value: list(1), units: list(2) };
  }

  async text(sheet) {
    sheet.texts ??= json(`data/${sheet.place}/text.json`);
    return sheet.texts;
  }

  async facts(label) { return (await this.sheet(label)).facts; }

  run(sheet, label) {
    const found = sheet.about.runs.findIndex((one) => one.label === label);
    return label ? found : 0;
  }

  async rows(query, either = false) {
    const key = `${either} ${query}`;
    if (!this.results.has(key)) {
      if (this.results.size > 20) this.results.clear();
      this.results.set(key, this.select(query, either));
    }
    return this.results.get(key);
  }

  async select(query, either) {
    const sheet = await this.sheet(query.get("sheet") ?? "");
    const tests = [];
    for (const [name, states] of either ? [] : [["a", query.get("ao")], ["b", query.get("bo")]]) {
      const run = this.run(sheet, query.get(name));
      if (states && query.get(name)) tests.push((row) => states.includes(sheet.ranks[run][row]));
    }
    const wanted = new Map();
    for (const [name, value] of query) if (name.startsWith("fact.")) wanted.set(name.slice(5), [...(wanted.get(name.slice(5)) ?? []), value]);
    for (const [name, values] of wanted) {
      const fact = sheet.facts.find((one) => one.name === name);
      const codes = new Set(fact.values.map((value, k) => (values.includes(value) ? k : -1)));
      tests.push((row) => codes.has(sheet.codes[name][row]));
    }
    const marks = this.known.marks[sheet.about.label] ?? {};
    if (query.get("starred") === "1") tests.push((row) => marks[sheet.ids[row]]?.star);
    if (query.get("noted") === "1") tests.push((row) => marks[sheet.ids[row]]?.note);
    if ((query.get("q") ?? "").trim()) tests.push(await this.search(query, sheet));
    const rows = [];
    for (let row = 0; row < sheet.n; row += 1) if (tests.every((test) => test(row))) rows.push(row);
    return either ? rows : this.order(query, sheet, rows);
  }

  async search(query, sheet) {
    const changed = query.get("in") === "changed";
    const column = (await this.text(sheet))[query.get("in") ?? "captions"];
    const sought = query.get("q").toLowerCase().split('"').flatMap((part, k) => {
      if (k % 2) return part ? [changed ? ` ${part} ` : part] : [];
      return part.split(/\s+/).filter(Boolean);
    });
    return (row) => sought.every((word) => column[row].includes(word));
  }

  order(query, sheet, rows) {
    const sort = query.get("sort") ?? "order";
    if (sort === "order" || !sheet.about.runs.length) return rows;
    const a = sheet.margins[this.run(sheet, query.get("a"))];
    const b = sheet.margins[this.run(sheet, query.get("b"))];
    const counts = (row) => sheet.ranks.reduce(([right, wrong], ranks) => (ranks[row] === RIGHT ? [right + 1, wrong]
      : ranks[row] === UNASKED ? [right, wrong] : [right, wrong + 1]), [0, 0]);
    const keys = {
      spread: (row) => Math.min(...sheet.margins.map((one) => one[row])) - Math.max(...sheet.margins.map((one) => one[row])),
      margin: (row) => a[row], "margin-high": (row) => -a[row], close: (row) => Math.abs(a[row]), gap: (row) => a[row] - b[row],
      wrong: (row) => -counts(row)[1], right: (row) => -counts(row)[0], disagreement: (row) => -Math.min(...counts(row)),
    };
    const key = new Map(rows.map((row) => [row, Math.fround(keys[sort](row))]));
    const last = (value) => (Number.isNaN(value) ? Infinity : value);
    return rows.sort((one, other) => last(key.get(one)) - last(key.get(other)) || (Number.isNaN(key.get(one)) ? 1 : 0) - (Number.isNaN(key.get(other)) ? 1 : 0) || one - other);
  }

  async page(sheet, sort, number) {
    const path = `data/${sheet.place}/${sort}-${number}.json`;
    if (!this.pages.has(path)) {
      if (this.pages.size > 200) this.pages.delete(this.pages.keys().next().value);
      this.pages.set(path, json(path));
    }
    return this.pages.get(path);
  }

  async one(sheet, sort, row) {
    return (await this.page(sheet, sort, Math.floor(row / sheet.page)))[row % sheet.page];
  }

  async items(query, offset, limit) {
    const sheet = await this.sheet(query.get("sheet") ?? "");
    const rows = await this.rows(query);
    const cards = await Promise.all(rows.slice(offset, offset + limit).map((row) => this.one(sheet, "cards", row)));
    return { total: rows.length, offset, cards };
  }

  async item(label, place) {
    const sheet = await this.sheet(label);
    const [card, rest] = await Promise.all([this.one(sheet, "cards", Number(place)), this.one(sheet, "items", Number(place))]);
    return { card, ...rest };
  }

  async summary(query, by) {
    const sheet = await this.sheet(query.get("sheet") ?? "");
    const rows = await this.rows(query);
    const fact = sheet.facts.find((one) => one.name === by);
    const runs = sheet.about.runs.map((run, k) => ({ label: run.label, ...shareOf(sheet, rows, k) }));
    const values = fact ? fact.values.map((name, code) => {
      const some = rows.filter((row) => sheet.codes[by][row] === code);
      return { name, n: some.length, runs: sheet.about.runs.map((_, k) => shareOf(sheet, some, k)) };
    }).filter((one) => one.n) : [];
    return { n: rows.length, by: fact ? by : "", runs, values, margins: sheet.margins.map((one) => histogramOf(one, rows)), agreement: sheet.about.form === "captions" ? [] : agreementOf(sheet, rows) };
  }

  async compare(query) {
    const sheet = await this.sheet(query.get("sheet") ?? "");
    return pairedOf(sheet, await this.rows(query, true), this.run(sheet, query.get("a")), this.run(sheet, query.get("b")));
  }

  mark(label, place, star, note, id) {
    const sheet = this.known.sheets[this.place(label)];
    const kept = JSON.parse(localStorage.getItem(KEPT + sheet.sha256) ?? "{}");
    const mark = { ...(star ? { star: true } : {}), ...(note.trim() ? { note: note.trim() } : {}) };
    kept[id] = mark;
    localStorage.setItem(KEPT + sheet.sha256, JSON.stringify(kept));
    this.results.clear();
    return mark;
  }

  // A table of the shown items, created when the link is clicked.
  csv(query) {
    return { make: async () => {
      const sheet = await this.sheet(query.get("sheet") ?? "");
      const rows = await this.rows(query);
      const cards = await Promise.all(rows.map((row) => this.one(sheet, "cards", row)));
      const quoted = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
      const captions = sheet.about.form === "captions";
      const each = (run) => (captions ? cards[0].columns.map(([name]) => `${run.label} ${name}`) : [run.label, `${run.label} margin`]);
      const head = ["id", "kind", captions ? "references" : "captions", ...(cards.length ? sheet.about.runs.flatMap(each) : [])];
      const lines = cards.map((card) => [card.id, card.kind, card.lines.map((line) => line.before + line.foil + line.after).join(" | "),
        ...card.rows.flatMap((row) => (captions ? row.answers.map((one) => one.text) : [row.verdict, row.margin]))].map(quoted).join(","));
      return new Blob([[head.map(quoted).join(","), ...lines].join("\n")], { type: "text/csv" });
    } };
  }

  large(address) { return address; }
}
