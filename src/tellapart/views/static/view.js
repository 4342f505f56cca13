// The page of a view: tabs, the address, the theme; each tab has its own module.
import { element } from "../shared/page.js";
import * as address from "./address.js";
import { ServerSource } from "./server.js";
import { Overview } from "./overview.js";
import { Items } from "./items.js";
import { Compare } from "./compare.js";

const LOOK_AGAIN = 2000;
const NAMES = { overview: "Overview", items: "Items", compare: "Compare" };
const main = document.getElementById("main");
const said = document.getElementById("said");
const root = document.documentElement;

export class App {
  constructor(source, about) {
    Object.assign(this, { source, about });
    this.parts = { overview: new Overview(this), items: new Items(this), compare: new Compare(this) };
    this.tab = null;
  }

  sheet(label) {
    return this.about.sheets.find((one) => one.label === label) ?? this.about.sheets[0];
  }

  // Go to another view by changing the address, which updates the page.
  go(tab, query, { replace = false } = {}) {
    const target = address.write(tab, new URLSearchParams(query));
    if (target === location.hash) return;
    if (replace) {
      history.replaceState(null, "", target);
      this.follow();
    } else {
      location.hash = target;
    }
  }

  link(tab, query) {
    return address.write(tab, new URLSearchParams(query));
  }

  async follow() {
    const { tab, query } = address.read();
    this.drawTabs(tab, query);
    if (tab !== this.tab) {
      this.parts[this.tab]?.leave?.();
      this.tab = tab;
      main.className = tab;
      main.replaceChildren();
      await this.parts[tab].enter(main, query);
      return;
    }
    await this.parts[tab].change(query);
  }

  drawTabs(now, query) {
    const kept = new URLSearchParams(query);
    kept.delete("item");
    document.getElementById("tabs").replaceChildren(...Object.keys(this.parts).map((tab) => element("a", {
      href: address.write(tab, tab === "overview" ? new URLSearchParams() : kept), "aria-current": tab === now ? "page" : false,
    }, NAMES[tab])));
  }

  marks(sheet) {
    return this.about.marks[sheet] ?? {};
  }

  async setMark(sheet, card, star, note) {
    const kept = await this.source.mark(sheet, card.place, star, note, card.id);
    const own = (this.about.marks[sheet] ??= {});
    if (kept.star || kept.note) own[card.id] = kept; else delete own[card.id];
  }

  // Show the progress of running jobs in the page's header, and reload when there are new results.
  async watch() {
    const found = await this.source.live();
    const line = document.getElementById("live");
    line.hidden = !found.jobs.length;
    line.textContent = found.jobs.map((job) => `${job.model}: ${job.phase} ${job.done.toLocaleString("en")} of ${job.total.toLocaleString("en")}${left(job.seconds_left)}`).join("; ");
    if (found.version !== this.about.version) {
      this.about = await this.source.about();
      await (this.parts[this.tab].refresh?.() ?? this.parts[this.tab].change(address.read().query));
    }
  }

  say(text) {
    said.hidden = !text;
    said.textContent = text;
    clearTimeout(this.saying);
    if (text) this.saying = setTimeout(() => { said.hidden = true; }, 6000);
  }
}

function left(seconds) {
  if (seconds === null) return "";
  const minutes = Math.round(seconds / 60);
  return seconds < 90 ? `, about ${Math.ceil(seconds)} s left` : minutes < 90 ? `, about ${minutes} min left` : `, about ${(minutes / 60).toFixed(1)} h left`;
}

function themes() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; show(); });
  system.addEventListener("change", show);
  show();
}

function failed(problem) {
  const strange = problem?.status === 401;
  main.className = "";
  main.replaceChildren(element("section", { class: "sheet" },
    element("h1", {}, strange ? "Not signed in" : "Something went wrong"),
    element("p", {}, strange ? "Open the address printed by tellapart view: it contains the key to this view."
      : `${problem?.message ?? problem} ${problem?.todo ?? ""}`)));
}

async function start() {
  themes();
  const source = await open();
  const about = await source.about();
  const app = new App(source, about);
  addEventListener("hashchange", () => app.follow().catch(failed));
  addEventListener("unhandledrejection", (event) => failed(event.reason));
  document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  await app.follow();
  if (!source.bundle) setInterval(() => { if (!document.hidden) app.watch().catch(() => app.say("The view is no longer being served.")); }, LOOK_AGAIN);
}

async function open() {
  if (root.dataset.bundle !== undefined) return (await import("./bundle.js")).BundleSource.open();
  return ServerSource.open(address.takeKey());
}

start().catch(failed);
