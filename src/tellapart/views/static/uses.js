// What can be created from the filtered items: a table, a figure, a subset, a study, an address to share.
import { element, button, openDialog } from "../shared/page.js";
import { count } from "./overview.js";

const WHAT = {
  subset: ["A benchmark of these items", "Create the subset"],
  study: ["A study in which people judge them", "Create the study"],
};

export function useItems(app, query, total) {
  const said = element("p", { class: "outcome", role: "status" });
  const made = (what) => {
    const name = element("input", { type: "text", value: `${what}-${new Date().toISOString().slice(0, 10)}`, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*",
      "aria-label": `Name of the ${what}`, maxlength: "80" });
    const go = button(WHAT[what][1], async () => {
      said.textContent = "…";
      said.className = "outcome";
      try {
        said.textContent = (await app.source.make(what, query, name.value)).said;
      } catch (problem) {
        said.textContent = `${problem.message} ${problem.todo ?? ""}`;
        said.className = "outcome bad";
      }
    });
    return element("section", {}, element("h3", {}, WHAT[what][0]), element("p", { class: "inline" }, name, go));
  };
  const dialog = openDialog("Use these items", element("h2", {}, `Use these ${count(total)} items`),
    element("section", {}, element("h3", {}, "Download or share"), element("p", { class: "inline" },
      link("CSV table", app.source.csv(query), "items.csv"),
      app.source.bundle ? "" : link("Figure (PNG, PDF, LaTeX)", app.source.figure(query), "figure.zip"),
      button("Copy the address of this view", async (event) => {
        await navigator.clipboard?.writeText(app.source.bundle ? location.href : `--at '${location.hash.slice(1)}'`);
        event.target.textContent = "Copied";
      })),
    app.source.bundle ? "" : element("p", { class: "faint" }, "A figure shows at most 24 items: star the ones you want, then filter by stars.")),
    ...(app.about.make ?? []).filter((what) => app.sheet(query.get("sheet")).makes.includes(what)).map(made),
    app.about.make?.length ? element("p", { class: "faint" }, `Folders are created in ${app.about.out}.`) : "", said);
  dialog.classList.add("uses");
}

function link(label, target, name) {
  if (typeof target === "string") return element("a", { class: "button", href: target, download: name }, label);
  return button(label, async () => {
    const href = URL.createObjectURL(await target.make());
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  });
}
