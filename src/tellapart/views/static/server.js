// The page's data source while `tellapart view` is running. `bundle.js` does the same with files.
import { call } from "../shared/calls.js";

export class ServerSource {
  constructor() {
    this.bundle = false;
  }

  static async open(key) {
    if (key) await call("api/join", { key });
    return new ServerSource();
  }

  about() { return call("api/view"); }

  overview() { return call("api/overview"); }

  facts(sheet) { return call(`api/facts?${new URLSearchParams({ sheet })}`); }

  items(query, offset, limit) {
    const asked = new URLSearchParams(query);
    asked.set("offset", offset);
    asked.set("limit", limit);
    return call(`api/items?${asked}`);
  }

  item(sheet, place) { return call(`api/item/${place}?${new URLSearchParams({ sheet })}`); }

  summary(query, by) { return call(`api/summary?${new URLSearchParams([...query, ["by", by]])}`); }

  compare(query) { return call(`api/compare?${query}`); }

  mark(sheet, place, star, note) { return call("api/marks", { sheet, place, star, note }); }

  make(what, query, name) { return call(`api/make/${what}?${query}`, { name }); }

  csv(query) { return `api/items.csv?${query}`; }

  figure(query) { return `api/figure.zip?${query}`; }

  live() { return call("api/live"); }

  large(address) { return address.replace(/-\d+\.webp$/, "-1600.webp"); }
}
