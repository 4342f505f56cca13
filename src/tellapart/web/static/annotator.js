// A plain page: consent, then one task after the other.
import { call, element, takeToken } from "./calls.js";

const page = document.getElementById("page");
const show = (...parts) => page.replaceChildren(...parts);
let since = 0;

async function start() {
  const token = takeToken();
  if (token) await call("/api/join", { token });
  render(await call("/api/next", {}));
}

function render(state) {
  if (state.state === "consent") {
    show(element("pre", {}, state.study.consent),
      element("button", { onclick: async () => render(await call("/api/consent", { agree: true })) }, "I agree"));
  } else if (state.state === "work") {
    task(state.task);
  } else {
    show(element("p", {}, state.thanks), element("p", {}, state.completion_code));
  }
}

function task(given) {
  since = performance.now();
  const shown = given.shown.map((one) => element("p", {}, `${one.label}: ${one.text}`,
    ...(one.image ? [element("img", { src: one.image, alt: one.label })] : [])));
  const options = given.options.map((one) => element("button", { onclick: () => choose(given, one) },
    one.label || one.text || one.value,
    ...(one.image ? [element("br"), element("img", { src: one.image, alt: one.label })] : [])));
  show(element("h1", {}, given.prompt), ...shown, element("div", { class: "options" }, ...options));
}

async function choose(given, option, word = null) {
  if (given.word && given.word.when === option.value && word === null) return askWord(given, option);
  const milliseconds = Math.round(performance.now() - since);
  render(await call("/api/answers", { number: given.number, value: option.value, word, milliseconds }));
}

function askWord(given, option) {
  const pieces = given.word.pieces.map((one) => one.word === null ? one.text
    : element("button", { onclick: () => choose(given, option, one.word) }, one.text));
  show(element("h1", {}, given.word.prompt), element("p", {}, ...pieces));
}

start().catch((error) => show(element("p", { role: "alert" }, error.message)));
