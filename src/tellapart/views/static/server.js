// Where the page gets everything from while `tellapart view` runs. `bundle.js` does the same from files.
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

  summary(query) { return call(`api/summary?${query}`); }

  compare(query) { return call(`api/compare?${query}`); }

  mark(body) { return call("api/marks", body); }

  act(what, query, body) { return call(`api/do/${what}?${query}`, body); }

  live() { return call("api/live"); }

  large(address) { return address.replace(/-\d+$/, "-1600"); }
}
