// One item in full: large pictures, all cells of its grid as a heat map, its origin.
import { element, button } from "../shared/page.js";
import { inside } from "../shared/card.js";

export class ItemDialog {
  constructor(app, items) {
    Object.assign(this, { app, items });
    this.index = null;
  }

  async follow(query) {
    const place = query.get("item");
    if (place === null) { this.shut(); return; }
    if (this.dialog && this.place === place && this.sheet === query.get("sheet")) return;
    this.place = place;
    this.sheet = query.get("sheet");
    const found = await this.app.source.item(this.items.about.label, place);
    if (this.place !== place) return;
    this.draw(found);
  }

  shut() {
    const dialog = this.dialog;
    this.dialog = null;
    this.place = null;
    dialog?.close();
    dialog?.remove();
  }

  close() {
    const query = new URLSearchParams(this.items.query);
    query.delete("item");
    this.app.go("items", query);
  }

  draw(found) {
    if (!this.dialog) {
      this.dialog = element("dialog", { class: "item", "aria-label": "Item" });
      this.dialog.addEventListener("cancel", (event) => { event.preventDefault(); this.close(); });
      this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.close(); });
      this.dialog.addEventListener("keydown", (event) => this.key(event));
      document.body.append(this.dialog);
    }
    const { card } = found;
    const large = { ...card, shots: card.shots.map((shot) => ({ ...shot, thumbnail: { ...shot.thumbnail,
      place: shot.thumbnail.place === null ? null : this.app.source.large(shot.thumbnail.place) } })) };
    this.dialog.replaceChildren(
      element("header", {}, button("‹", () => this.step(-1), { "aria-label": "Previous item" }),
        button("›", () => this.step(1), { "aria-label": "Next item" }),
        element("h2", {}, card.id), this.items.star(card), button("Close", () => this.close(), { class: "close" })),
      element("div", { class: "card large" }, ...inside(large)),
      this.note(card), heat(found), edits(found), replies(found), origin(found), this.neighbours(found));
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
  }

  note(card) {
    const field = element("textarea", { rows: "2", maxlength: "4000", placeholder: "A note for yourself", "aria-label": "Note" });
    field.value = this.items.mark(card).note ?? "";
    field.addEventListener("change", async () => {
      await this.app.setMark(this.items.about.label, card, Boolean(this.items.mark(card).star), field.value);
      this.app.say("The note is saved.");
      this.items.list?.redraw();
    });
    return element("section", { class: "note" }, field);
  }

  key(event) {
    if (event.target.closest("input, textarea, select")) return;
    if (event.key === "ArrowRight" || event.key === "ArrowDown" && event.altKey) { event.preventDefault(); this.step(1); }
    if (event.key === "ArrowLeft" || event.key === "ArrowUp" && event.altKey) { event.preventDefault(); this.step(-1); }
  }

  async step(by) {
    const list = this.items.list;
    const index = (this.index ?? 0) + by;
    if (!list || index < 0 || index >= list.total) return;
    const got = await list.load(index, 1);
    this.index = index;
    const query = new URLSearchParams(this.items.query);
    query.set("item", got.cards[0].place);
    list.go(index);
    this.app.go("items", query, { replace: true });
  }

  neighbours(found) {
    if (!found.neighbours.length) return "";
    const many = found.neighbours.map((one) => {
      const query = new URLSearchParams(this.items.query);
      query.set("item", one.place);
      return element("li", {}, element("a", { href: this.app.link("items", query) },
        ...one.pictures.map((src) => element("img", { src, alt: "", loading: "lazy" })),
        element("span", {}, element("b", {}, one.shares), ` ${one.kind}`, element("br"), one.captions.join(" / "))));
    });
    return element("section", {}, element("h3", {}, "Neighbours in the benchmark"), element("ul", { class: "neighbours" }, ...many));
  }
}

const letter = (k) => (k < 26 ? String.fromCharCode(65 + k) : `picture ${k + 1}`);
const short = (value) => (value === null ? "" : String(Number(value.toPrecision(4))));

// Scores as a heat map on each model's own scale, with true cells framed and ticked.
function heat(found) {
  const known = found.grids.filter((one) => one.cells);
  if (!known.length) return "";
  const true_ = new Set(found.true.map(([i, j]) => `${i},${j}`));
  const maps = known.map((one) => {
    const values = one.cells.flat().filter((value) => value !== null);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const level = (value) => (high > low ? Math.round((9 * (value - low)) / (high - low)) : 4);
    const head = element("tr", {}, element("td", {}), ...one.cells[0].map((_, j) => element("th", { scope: "col" }, String(j + 1))));
    const rows = one.cells.map((row, i) => element("tr", {}, element("th", { scope: "row" }, letter(i)),
      ...row.map((value, j) => {
        const yes = true_.has(`${i},${j}`);
        return element("td", { class: value === null ? "none" : `heat-${level(value)}${yes ? " true" : ""}` },
          value === null ? "no score" : short(value), yes ? element("span", { class: "tick", role: "img", "aria-label": "true" }, " ✓") : "");
      })));
    return element("figure", {}, element("figcaption", {}, one.label), element("table", { class: "heat" },
      element("thead", {}, head), element("tbody", {}, ...rows)));
  });
  return element("section", {}, element("h3", {}, "Scores of all cells"),
    element("p", { class: "faint" }, "Rows are pictures, columns are captions; ✓ marks what is true. Colours use each model’s own scale."),
    element("div", { class: "maps" }, ...maps));
}

function edits(found) {
  const known = found.grids.filter((one) => one.edits.length);
  if (!known.length) return "";
  return element("section", {}, element("h3", {}, "Words removed or inserted"), ...known.map((one) => element("details", {},
    element("summary", {}, one.label), element("ol", { class: "edits" }, ...one.edits.map(([edit, , , score]) => element("li", {},
      element("code", {}, edit), ` ${short(score)}`))))));
}

function replies(found) {
  if (!found.replies.length) return "";
  return element("section", {}, element("h3", {}, "Questions and replies"), ...found.replies.map((one) => element("details", {},
    element("summary", {}, element("b", {}, one.label), ` ${one.question}, trial ${one.trial + 1}: ${one.failure || one.reply.slice(0, 80) || "no text"}`),
    one.prompt.length ? element("pre", { class: "prompt" }, one.prompt.join("\n")) : "",
    element("pre", {}, one.failure ? `${one.failure}\n${one.reply}` : one.reply || "(no text, only a choice)"))));
}

function origin(found) {
  return element("section", {}, element("h3", {}, "Origin"), element("dl", { class: "origin" },
    ...Object.entries(found.origin).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))));
}
