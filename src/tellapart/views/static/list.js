// A virtual list: cards of equal height in columns; only those near the window exist.
// Browsers cannot draw elements of more than a few million pixels: beyond that, the scroll bar is scaled.
import { element } from "../shared/page.js";

const PAGE = 24;
const TALLEST = 12_000_000;
const SPARE = 2;

export class VirtualList {
  // `load(offset, limit)` returns { total, cards }; `draw(card, index)` an element; `height` is in pixels per card.
  constructor({ load, draw, width, height, label }) {
    Object.assign(this, { load, draw, width, height, gap: 14 });
    this.inner = element("div", { class: "rows" });
    this.box = element("div", { class: "scroller", tabindex: "0", role: "list", "aria-label": label }, this.inner);
    this.box.addEventListener("scroll", () => this.show(), { passive: true });
    this.pages = new Map();
    this.shown = new Map();
    this.total = 0;
    this.sizes = new ResizeObserver(() => { this.shown.forEach((one) => one.remove()); this.shown.clear(); this.layout(); });
    this.sizes.observe(this.box);
  }

  // Start over; resolves with the number of cards once the first ones are loaded.
  async reset(load = this.load, at = 0) {
    this.load = load;
    this.pages.clear();
    this.shown.forEach((one) => one.remove());
    this.shown.clear();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const first = Math.floor(at / PAGE) * PAGE;
    const got = await load(first, PAGE);
    if (turn !== this.turn) return null;
    this.pages.set(first / PAGE, got.cards);
    this.total = got.total;
    this.layout();
    this.go(at);
    return got.total;
  }

  layout() {
    const room = this.box.clientWidth || 1;
    this.columns = Math.max(1, Math.floor((room + this.gap) / (this.width + this.gap)));
    this.rows = Math.ceil(this.total / this.columns);
    this.full = this.rows * (this.height + this.gap);
    this.tall = Math.min(this.full, TALLEST);
    this.inner.style.height = `${this.tall}px`;
    this.show();
  }

  // The row at the top of the window, as a fractional number.
  top() {
    const free = Math.max(1, this.tall - this.box.clientHeight);
    const whole = Math.max(1, this.full - this.box.clientHeight);
    return ((this.box.scrollTop / free) * whole) / (this.height + this.gap);
  }

  go(index) {
    const row = Math.floor(index / this.columns) * (this.height + this.gap);
    const free = Math.max(1, this.tall - this.box.clientHeight);
    const whole = Math.max(1, this.full - this.box.clientHeight);
    this.box.scrollTop = (Math.min(row, whole) / whole) * free;
    this.show();
  }

  show() {
    if (!this.total) return;
    const step = this.height + this.gap;
    const top = this.top();
    const first = Math.max(0, Math.floor(top) - SPARE);
    const last = Math.min(this.rows - 1, Math.ceil(top + this.box.clientHeight / step) + SPARE);
    const wanted = new Set();
    for (let index = first * this.columns; index < Math.min(this.total, (last + 1) * this.columns); index += 1) wanted.add(index);
    for (const [index, one] of this.shown) {
      if (!wanted.has(index) && !one.contains(document.activeElement)) { one.remove(); this.shown.delete(index); }
    }
    const shift = this.box.scrollTop - top * step;
    const width = `calc((100% - ${(this.columns - 1) * this.gap}px) / ${this.columns})`;
    for (const index of wanted) {
      const card = this.card(index);
      if (!card) continue;
      let one = this.shown.get(index);
      if (!one) {
        one = this.draw(card, index);
        one.setAttribute("aria-setsize", this.total);
        one.setAttribute("aria-posinset", index + 1);
        one.style.height = `${this.height}px`;
        one.style.width = width;
        const column = index % this.columns;
        one.style.left = `calc((100% + ${this.gap}px) * ${column} / ${this.columns})`;
        this.shown.set(index, one);
        const after = [...this.shown.keys()].filter((other) => other > index).sort((a, b) => a - b)[0];
        this.inner.insertBefore(one, after === undefined ? null : this.shown.get(after));
      }
      one.style.top = `${shift + Math.floor(index / this.columns) * step}px`;
    }
  }

  card(index) {
    const page = Math.floor(index / PAGE);
    const known = this.pages.get(page);
    if (known === undefined) this.fetch(page);
    return known && known !== "coming" ? known[index - page * PAGE] : null;
  }

  async fetch(page) {
    this.pages.set(page, "coming");
    const turn = this.turn;
    try {
      const got = await this.load(page * PAGE, PAGE);
      if (turn !== this.turn) return;
      this.pages.set(page, got.cards);
      if (this.pages.size > 60) this.pages.delete(this.pages.keys().next().value);
      this.show();
    } catch (problem) {
      this.pages.delete(page);
      throw problem;
    }
  }

  // Redraw the visible cards after a change.
  redraw() {
    this.shown.forEach((one) => one.remove());
    this.shown.clear();
    this.show();
  }

  end() {
    this.sizes.disconnect();
  }
}
