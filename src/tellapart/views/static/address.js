// The current view is after the # of the address: `items?sheet=bison&a=storybook&ao=w`.

export const TABS = ["overview", "items", "compare"];

export function read(hash = location.hash) {
  const [tab, query] = split(hash.replace(/^#/, ""));
  return { tab: TABS.includes(tab) ? tab : "overview", query: new URLSearchParams(query) };
}

function split(text) {
  const mark = text.indexOf("?");
  return mark < 0 ? [text, ""] : [text.slice(0, mark), text.slice(mark + 1)];
}

export function write(tab, query) {
  const kept = new URLSearchParams([...query].filter(([, value]) => value !== ""));
  const text = kept.toString();
  return `#${tab}${text ? `?${text}` : ""}`;
}

// The secret in the printed address; it is removed, so that it is not copied with a view's address.
export function takeKey() {
  const found = /^#key=([\w-]+)&?(.*)$/s.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", location.pathname + location.search + (found[2] ? `#${found[2]}` : ""));
  return found[1];
}

// The parameters of an address that select its items.
export function asked(query) {
  const kept = new URLSearchParams(query);
  for (const name of ["item", "by", "at"]) kept.delete(name);
  return kept;
}
