"use strict";

// Pictures: each is stored once, and inserted wherever it is shown.
const album = JSON.parse(document.getElementById("album").textContent);
for (const image of document.querySelectorAll("img[data-picture]")) {
  image.src = album[Number(image.dataset.picture)];
}

// Light and dark: the system's choice until the button is pressed.
const root = document.documentElement;
const button = document.getElementById("theme");
const system = window.matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
}

function showTheme() {
  button.setAttribute("aria-pressed", String(isDark()));
  button.querySelector(".word").textContent = isDark() ? "Light" : "Dark";
}

button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
system.addEventListener("change", showTheme);
showTheme();

// Closed details are opened for printing, and closed again afterwards.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("#made details:not([open])")];
  for (const details of opened) details.open = true;
});
window.addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});

// Filters: their state is in the address, so that a view can be shared.
const form = document.getElementById("filters");

if (form) {
  const START = "#gallery?";
  const cards = [...document.querySelectorAll(".card")];
  const models = Number(document.querySelector(".cards").dataset.models);
  const { benchmark, kind, outcome, model } = form.elements;
  const fields = { benchmark, kind, outcome, model };

  const chosen = (select) => select.selectedOptions[0].dataset;

  // One letter per model, the text-only one last; without an outcome, every model that was asked counts.
  function hasOutcome(codes, code, place) {
    const fits = (letter) => (code ? letter === code : letter !== "-");
    const all = [...codes].slice(0, models || 1);
    if (place === "any") return !code || all.some(fits);
    if (place === "every") return all.every(fits);
    return fits(codes[Number(place)]);
  }

  function matches(card) {
    const { sheet, kind: itsKind, codes } = card.dataset;
    if (benchmark.value && sheet !== chosen(benchmark).place) return false;
    if (kind.value && itsKind !== kind.value) return false;
    return hasOutcome(codes, chosen(outcome).code, chosen(model).place);
  }

  // Disable kinds that the chosen benchmark does not have.
  function offerKinds() {
    const there = new Set(
      cards
        .filter((card) => !benchmark.value || card.dataset.sheet === chosen(benchmark).place)
        .map((card) => card.dataset.kind),
    );
    for (const option of kind.options) option.disabled = option.value !== "" && !there.has(option.value);
    if (kind.selectedOptions[0].disabled) kind.value = "";
  }

  function show() {
    offerKinds();
    let count = 0;
    for (const card of cards) {
      card.hidden = !matches(card);
      if (!card.hidden) count += 1;
    }
    const number = (value) => value.toLocaleString("en");
    document.getElementById("count").value = `${number(count)} of ${number(cards.length)} shown`;
    document.getElementById("nothing").hidden = count > 0;
  }

  function remember() {
    const state = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) {
      if (field.value) state.set(name, field.value);
    }
    const text = state.toString();
    history.replaceState(null, "", text ? START + text : "#gallery");
  }

  function recall() {
    if (!location.hash.startsWith(START)) return;
    const state = new URLSearchParams(location.hash.slice(START.length));
    for (const [name, field] of Object.entries(fields)) {
      const wanted = state.get(name) || "";
      field.value = [...field.options].some((option) => option.value === wanted) ? wanted : "";
    }
    show();
    document.getElementById("gallery").scrollIntoView();
  }

  form.addEventListener("change", () => {
    show();
    remember();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const field of Object.values(fields)) field.value = "";
    show();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", recall);
  show();
  recall();
}
