// One task as a form: what it shows, the options as radio buttons, and the word if one is asked for.
import { element, button, picture, enlarge } from "../shared/page.js";

const MAGNIFIER = "Enlarge";

// Returns the form and handles on it; `submit(value, word, milliseconds)` is called once.
export function taskForm(task, { submit, given = null, sendLabel = "Next" }) {
  let missing = 0;
  let started = performance.now();
  let hidden = 0;
  let hiddenSince = document.hidden ? performance.now() : null;
  let sent = false;

  const send = element("button", { type: "submit", class: "primary" }, sendLabel);
  const hint = element("p", { class: "hint", id: "hint" });
  const form = element("form", { class: `task ${task.type} ${task.layout ?? ""}`.trim(), novalidate: true });
  const prompt = element("h1", { tabindex: "-1", id: "prompt" }, task.prompt);

  const arrived = () => {
    missing -= 1;
    if (missing === 0) {
      started = performance.now();
      hidden = 0;
    }
    refresh();
  };
  const seen = (address, label) => {
    missing += 1;
    return picture(address, label, arrived);
  };

  const shown = element("div", { class: "shown" }, ...shownParts(task.shown, seen));
  const words = task.word ? wordChoice(task.word, refresh) : null;
  const options = optionList(task, seen, refresh);
  if (words) shown.append(words.box); // replaces the caption while a word is asked for
  form.append(prompt, shown, options.box, element("div", { class: "send" }, hint, send));

  const counted = () => {
    if (document.hidden) hiddenSince = performance.now();
    else if (hiddenSince !== null) {
      hidden += performance.now() - hiddenSince;
      hiddenSince = null;
    }
  };
  document.addEventListener("visibilitychange", counted);

  function wordWanted() {
    return words !== null && options.value() === task.word.when;
  }

  function refresh() {
    if (words) {
      words.box.hidden = !wordWanted();
      for (const text of shown.querySelectorAll("blockquote")) text.hidden = wordWanted();
    }
    const lacking = missing > 0 ? "Loading the pictures …"
      : options.value() === null ? options.hint
        : wordWanted() && words.value() === null ? task.word.hint : "";
    hint.textContent = lacking;
    send.setAttribute("aria-disabled", String(lacking !== "" || sent));
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    refresh();
    if (sent || send.getAttribute("aria-disabled") === "true") return;
    sent = true;
    refresh();
    document.removeEventListener("visibilitychange", counted);
    const took = Math.max(0, Math.round(performance.now() - started - hidden));
    submit(options.value(), wordWanted() ? words.value() : null, took);
  });

  if (given) {
    options.set(given.value);
    if (words && given.word !== null) words.set(given.word);
  }
  refresh();
  return {
    form,
    focus: () => prompt.focus({ preventScroll: true }),
    press: (place) => options.press(place),
    enlargeFirst: () => form.querySelector(".magnify")?.click(),
    unlock: () => { sent = false; refresh(); },
  };
}

// Pictures are in one row, with labels if there are several.
function shownParts(all, seen) {
  const pictures = all.filter((one) => one.image);
  const figures = pictures.map((one) => element("figure", { class: "shown-picture" },
    pictures.length > 1 ? element("figcaption", {}, one.label) : null,
    seen(one.image, one.label || "Picture"), magnify(one.image, one.label || "Picture")));
  const texts = all.filter((one) => !one.image).map((one) => element("blockquote",
    { class: "caption", "aria-label": one.label || "Caption" }, element("p", {}, one.text)));
  return [figures.length ? element("div", { class: "row" }, ...figures) : null, ...texts].filter(Boolean);
}

function magnify(address, label) {
  return button(MAGNIFIER, (event) => {
    event.preventDefault();
    enlarge(address, label);
  }, { class: "magnify", "aria-label": `${MAGNIFIER}: ${label}` });
}

function optionList(task, seen, changed) {
  const inputs = [];
  const labels = task.options.map((one, place) => {
    const input = element("input", { type: "radio", name: "answer", value: one.value, onchange: changed });
    inputs.push(input);
    return element("label", { class: optionClass(one) }, input,
      one.image ? seen(one.image, one.label) : null,
      element("span", { class: "words" },
        element("kbd", { "aria-hidden": "true" }, String(place + 1)),
        element("span", {}, one.text || one.label || one.value)),
      one.image ? magnify(one.image, one.label) : null);
  });
  const moving = labels.filter((_, k) => !task.options[k].fixed);
  const fixed = labels.filter((_, k) => task.options[k].fixed);
  const pictures = task.options.filter((one) => one.image).length;
  const row = (some, kind) => some.length
    ? element("div", { class: `options ${kind}` }, ...some) : null;
  const box = element("fieldset", { "aria-labelledby": "prompt", class: `of-${pictures}` },
    row(moving, pictures ? "pictures" : "texts"), row(fixed, "fixed"));
  return {
    box,
    hint: matchMedia("(hover: none)").matches ? "Choose an answer."
      : `Choose with a click, or with the keys 1 to ${inputs.length}.`,
    value: () => inputs.find((input) => input.checked)?.value ?? null,
    set: (value) => { for (const input of inputs) input.checked = input.value === value; },
    press: (place) => {
      const input = inputs[place - 1];
      if (!input) return false;
      input.checked = true;
      input.focus();
      changed();
      return true;
    },
  };
}

function optionClass(one) {
  return ["option", one.image ? "has-picture" : "", one.fixed ? "fixed-option" : ""].join(" ").trim();
}

function wordChoice(asked, changed) {
  const inputs = [];
  const pieces = asked.pieces.map((piece) => {
    if (piece.word === null) return piece.text;
    const input = element("input", {
      type: "radio", name: "word", value: String(piece.word), onchange: changed,
    });
    inputs.push(input);
    return element("label", { class: "word" }, input, element("span", {}, piece.text));
  });
  const box = element("fieldset", { class: "word-choice", hidden: true },
    element("legend", {}, asked.prompt), element("p", { class: "caption" }, ...pieces));
  const chosen = () => inputs.find((input) => input.checked);
  return {
    box,
    value: () => (chosen() ? Number(chosen().value) : null),
    set: (word) => { for (const input of inputs) input.checked = input.value === String(word); },
  };
}
