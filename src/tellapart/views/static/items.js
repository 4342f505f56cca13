// Items: filters on top, a list of cards below, and one item in full when it is opened.
import { element, button } from "../shared/page.js";
import { grid, answers } from "../shared/card.js";
import { asked } from "./address.js";
import { VirtualList } from "./list.js";
import { Filters } from "./filters.js";
import { ItemDialog } from "./item.js";
import { count } from "./overview.js";
import { useItems } from "./uses.js";

const MOST_ROWS = 8;

export class Items {
  constructor(app) {
    this.app = app;
    this.dialog = new ItemDialog(app, this);
  }

  async enter(main, query) {
    this.number = element("output", { id: "count", "aria-live": "polite" });
    this.filters = new Filters(this.app, this);
    this.nothing = element("p", { class: "calm", hidden: true }, "No items match. Choose another filter, or show all.");
    this.place = element("div", { class: "place" });
    main.append(element("h1", { class: "hidden" }, "Items"), this.filters.box, this.nothing, this.place);
    this.asked = null;
    await this.change(query);
  }

  leave() {
    this.list?.end();
    this.list = null;
    this.dialog.shut();
  }

  async change(query) {
    this.query = query;
    this.about = this.app.sheet(query.get("sheet"));
    await this.filters.show(query, this.about);
    const wanted = asked(query);
    wanted.set("sheet", this.about.label);
    const text = wanted.toString();
    if (text !== this.asked) {
      this.asked = text;
      await this.reload(wanted);
    }
    await this.dialog.follow(query);
  }

  async reload(wanted) {
    const load = (offset, limit) => this.app.source.items(wanted, offset, limit);
    const size = measure(this.about);
    if (!this.list || this.size !== size.height) {
      this.list?.end();
      this.size = size.height;
      this.list = new VirtualList({ load, draw: (card, index) => this.card(card, index), label: "Items", ...size });
      this.place.replaceChildren(this.list.box);
    }
    const total = await this.list.reset(load);
    if (total === null) return;
    this.number.value = `${count(total)} of ${count(this.about.items)}`;
    this.nothing.hidden = total > 0;
    this.place.hidden = total === 0;
  }

  // The items have changed on the server: another run, or more answers.
  async refresh() {
    this.filters.factsOf = null;
    this.asked = null;
    await this.change(this.query);
  }

  use() {
    const wanted = asked(this.query);
    wanted.set("sheet", this.about.label);
    useItems(this.app, wanted, this.list?.total ?? 0);
  }

  mark(card) {
    return this.app.marks(this.about.label)[card.id] ?? {};
  }

  star(card) {
    const now = this.mark(card);
    const one = button(now.star ? "★" : "☆", async () => {
      const was = this.mark(card);
      await this.app.setMark(this.about.label, card, !was.star, was.note ?? "");
      draw();
    }, { class: "star" });
    const draw = () => {
      const starred = Boolean(this.mark(card).star);
      one.textContent = starred ? "★" : "☆";
      one.setAttribute("aria-pressed", String(starred));
      one.setAttribute("aria-label", `Star ${card.id}`);
    };
    draw();
    return one;
  }

  card(card, index) {
    const open = element("button", { type: "button", class: "open", "aria-label": `Open ${card.id}` }, card.id);
    open.addEventListener("click", () => this.open(card, index));
    const short = { ...card, rows: card.rows.slice(0, MOST_ROWS) };
    const one = element("article", { class: "card", role: "listitem", "aria-label": card.id, "data-index": index },
      element("p", { class: "tags" }, this.star(card), element("span", {}, card.kind),
        this.mark(card).note ? element("span", { class: "tag", title: this.mark(card).note }, "note") : "", open), ...grid(short), answers(short));
    one.addEventListener("click", (event) => {
      if (!event.target.closest("button, a, summary, .scroll")) this.open(card, index);
    });
    return one;
  }

  open(card, index) {
    this.dialog.index = index;
    const query = new URLSearchParams(this.query);
    query.set("sheet", this.about.label);
    query.set("item", card.place);
    this.app.go("items", query);
  }
}

// The height of a sheet's cards, from the shape of their grids and the number of runs.
function measure(about) {
  if (about.form === "captions") {
    const narrow = innerWidth < 700;
    return { width: 520, height: 46 + (narrow ? 340 : 240) + 34 + Math.min(about.runs.length, MOST_ROWS) * (narrow ? 66 : 48) };
  }
  const images = Math.max(...about.shapes.map(([one]) => one), 1);
  const captions = Math.max(...about.shapes.map(([, one]) => one), 1);
  const rows = Math.min(about.runs.length, MOST_ROWS);
  const line = innerWidth < 700 ? 20 : 0; // a phone breaks captions into more lines
  const body = images === 1 ? Math.max(162, captions * (74 + line)) : captions === 1 ? 236 + line : 180 + captions * (70 + line);
  return { width: images > 1 ? 440 : 420, height: 46 + body + (rows ? 30 + rows * 24 : 0) };
}
