// The annotators' page: consent, instructions, one task after another, thanks.
import { call, insist, takeToken, Refused } from "../shared/calls.js";
import { element, button, prose, openDialog } from "../shared/page.js";
import { taskForm } from "./task.js";

const PROLIFIC = ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"];
const LOOK_AGAIN = 15000;
const PENDING = "tellapart-answer";
const READ = "tellapart-read-";

const at = (id) => document.getElementById(id);
const page = at("page");
let about = null;
let work = null;
let current = null;
let lookAgain = 0;
let forms = {}; // by question type: its own form, if it brings one

const waiting = (lost) => {
  at("connection").hidden = !lost;
  at("connection").textContent = lost
    ? "No connection. Your answers are saved; this page continues by itself as soon as possible." : "";
};
const ask = (path, body) => insist(path, body, waiting);

function show(...parts) {
  clearTimeout(lookAgain);
  current = null;
  page.replaceChildren(...parts);
  scrollTo({ top: 0 });
  page.querySelector("h1")?.focus({ preventScroll: true });
}

// A page of text with buttons below it.
function sheet(title, text, ...buttons) {
  show(element("section", { class: "sheet" }, element("h1", { tabindex: "-1" }, title), text,
    element("div", { class: "send" }, ...buttons)));
}

async function start() {
  await join();
  const me = await ask("/api/me");
  about = me.study;
  forms = await ownForms(about.stages);
  work = { person: me.person };
  at("top").hidden = false;
  at("study").textContent = about.name;
  document.title = about.name;
  await sendPending();
  render(await ask("/api/next", {}));
}

async function ownForms(stages) {
  const scripts = stages.filter((stage) => stage.script);
  const modules = await Promise.all(scripts.map((stage) => import(stage.script)));
  return Object.fromEntries(scripts.map((stage, k) => [stage.type, modules[k].taskForm]));
}

async function join() {
  const token = takeToken();
  if (token) {
    await ask("/api/join", { token });
    return;
  }
  const found = new URLSearchParams(location.search);
  if (PROLIFIC.every((name) => found.get(name))) {
    const ids = Object.fromEntries(PROLIFIC.map((name) => [name, found.get(name)]));
    history.replaceState(null, "", location.pathname);
    await ask("/api/join/prolific", ids).catch((problem) => {
      if (!(problem instanceof Refused)) throw problem;
      throw new Unwelcome(problem);
    });
  }
}

function render(found) {
  work = { ...work, ...found };
  const states = { consent, work: begin, wait, done, stopped };
  at("back").hidden = !(work.state === "work" && work.back);
  drawProgress();
  (states[work.state] ?? stopped)();
  loadAhead(work.ahead);
}

function drawProgress() {
  const progress = work.state === "work" ? work.progress : null;
  at("progress").hidden = !progress;
  if (!progress) return;
  const practising = work.task?.training;
  const { done: count, of } = practising ? progress.training : progress;
  const place = count + 1;
  at("count").textContent = practising ? `Practice ${Math.min(place, of)} of ${of}`
    : of ? `${Math.min(place, of)} of ${of}` : `${count} done`;
  at("bar").hidden = !of;
  at("bar").value = count;
  at("bar").max = of || 1;
}

function consent() {
  sheet("Before you start", prose(about.consent),
    button("I agree and want to take part", async () => {
      render(await ask("/api/consent", { agree: true }));
    }, { class: "primary" }),
    button("I do not agree", declined));
}

function declined() {
  sheet("That is fine", prose("Nothing was stored. You can close this page."),
    button("I changed my mind", consent));
}

// Instructions come once before the first task of each stage.
function begin() {
  const stage = stageNow();
  const place = READ + work.person.code;
  const read = localStorage.getItem(place)?.split("\n") ?? [];
  if (!stage || read.includes(stage.name)) {
    showTask();
    return;
  }
  const practice = work.progress.training?.of
    ? `You start with **${work.progress.training.of} practice examples** that show you what is right.` : "";
  sheet("What to do", prose([stage.instructions, practice].join("\n\n")),
    button(practice ? "Start practising" : "Start", () => {
      localStorage.setItem(place, [...read, stage.name].join("\n"));
      showTask();
    }, { class: "primary" }));
}

function stageNow() {
  return about.stages.find((stage) => stage.name === work.stage);
}

function showTask(earlier = null) {
  const task = earlier?.task ?? work.task;
  const draw = forms[task.type] ?? taskForm;
  const made = draw(task, {
    given: earlier?.answer ?? null,
    sendLabel: earlier ? "Change my answer" : "Next",
    submit: (value, word, milliseconds) => answer(task, made, {
      number: task.number, value, word, milliseconds, revise: earlier !== null,
    }),
  });
  const note = earlier ? element("p", { class: "note" }, "This is an earlier answer of yours. ",
    button("Leave it as it is", () => showTask(), { class: "link" })) : null;
  show(element("div", {}, note, made.form));
  current = made;
  at("back").hidden = earlier !== null || !work.back;
  made.focus();
}

async function answer(task, made, body) {
  localStorage.setItem(PENDING, JSON.stringify({ code: work.person?.code, body }));
  let found;
  try {
    found = await ask("/api/answers", body);
  } catch (problem) {
    localStorage.removeItem(PENDING);
    if (problem instanceof Refused && problem.status === 409) {
      render(await ask("/api/next", {}));
      return;
    }
    made.unlock();
    throw problem;
  }
  localStorage.removeItem(PENDING);
  if (found.feedback) feedback(task, found);
  else render(found);
}

// An answer given just before this page was closed without a connection.
async function sendPending() {
  const kept = JSON.parse(localStorage.getItem(PENDING) ?? "null");
  if (kept === null) return;
  if (kept.code === work.person?.code) {
    try {
      await ask("/api/answers", kept.body);
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
    }
  }
  localStorage.removeItem(PENDING);
}

function feedback(task, found) {
  const { right, value, words, explanation } = found.feedback;
  const form = page.querySelector("form");
  for (const input of form.querySelectorAll("input")) {
    input.disabled = true;
    const isRight = input.name === "answer" ? input.value === value : words.includes(Number(input.value));
    if (isRight) input.closest("label").classList.add("right");
    else if (input.checked) input.closest("label").classList.add("wrong");
  }
  const wordBox = form.querySelector(".word-choice");
  if (wordBox && task.word.when === value) {
    wordBox.hidden = false;
    for (const text of form.querySelectorAll("blockquote")) text.hidden = true;
  }
  const go = button("Continue", () => render(found), { class: "primary" });
  const box = element("div", { class: `feedback ${right ? "right" : "wrong"}`, role: "status" },
    element("strong", {}, right ? "Right." : "Not quite."), " ", explanation);
  form.querySelector(".send").replaceChildren(box, go);
  at("back").hidden = true;
  current = null;
  go.focus();
}

function wait() {
  sheet("Nothing for you right now", prose(
    "Thank you, you have answered everything there is at the moment. There may be more when others "
    + "have finished.\n\nThis page checks again by itself. You can also close it and come back "
    + "with your link."), ...completion());
  lookAgain = setTimeout(async () => render(await ask("/api/next", {})), LOOK_AGAIN);
}

function done() {
  if (!work.completion_code && !work.progress?.done) {
    sheet("Nothing left to do", prose("Others have already answered everything, so there is nothing for "
    + "you to do. If a platform sent you here, please return your submission there."));
    return;
  }
  sheet("Done", prose(about.thanks), ...completion());
}

function completion() {
  const code = work.completion_code;
  if (!code) return [];
  return [element("p", { class: "code" }, "Your completion code: ", element("code", {}, code)),
    button("Copy the code", (event) => {
      navigator.clipboard?.writeText(code).then(() => { event.target.textContent = "Copied"; });
    })];
}

function stopped() {
  sheet("Your part has ended", prose(
    "The person who runs this study has ended your participation. Thank you for your time."));
}

async function back() {
  if (!work.back) return;
  showTask(await ask(`/api/tasks/${work.back}`));
}

function menu() {
  const dialog = openDialog("Menu", element("h2", {}, "Menu"));
  const entry = (label, act) => button(label, () => { dialog.close(); act(); });
  dialog.append(element("div", { class: "menu" },
    stageNow() ? entry("Instructions", instructions) : null,
    entry("Keyboard", keyboard),
    entry("Pause", pause),
    entry("Delete everything about me", remove)),
  element("p", { class: "hint" }, about.contact ? `Questions: ${about.contact}. ` : "",
    work.person ? `You are ${work.person.code} here.` : ""));
}

function instructions() {
  openDialog("Instructions", element("h2", {}, "What to do"), prose(stageNow().instructions));
}

function keyboard() {
  const keys = [["1, 2, 3 …", "choose"], ["arrows", "move the choice"], ["Enter", "next"],
    ["Backspace", "back to your last answer"], ["Z", "enlarge the first picture, Esc closes it"]];
  openDialog("Keyboard", element("h2", {}, "Keyboard"), element("dl", { class: "keys" },
    ...keys.flatMap(([key, what]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)])));
}

async function pause() {
  await ask("/api/pause", {});
  sheet("Paused", prose("All your answers are saved. You can close this page and come back with "
  + "your link whenever you like."),
  button("Continue now", async () => render(await ask("/api/next", {})), { class: "primary" }));
}

function remove() {
  const dialog = openDialog("Delete everything about me", element("h2", {}, "Delete everything about me?"),
    prose("All your answers and everything else stored about you will be deleted for good. You cannot "
    + "take part again with this link."));
  dialog.append(element("div", { class: "send" },
    button("Delete everything", async () => {
      dialog.close();
      await ask("/api/delete-me", { confirm: "delete" });
      at("top").hidden = true;
      sheet("Deleted", prose("Everything stored about you has been deleted. You can close this page."));
    }, { class: "danger" }),
    button("Keep it", () => dialog.close())));
}

function loadAhead(task) {
  if (!task) return;
  for (const one of [...task.shown, ...task.options]) {
    if (one.image) new Image().src = one.image;
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (current === null) return;
  const onButton = event.target.closest("button, a");
  if (event.key >= "1" && event.key <= "9") {
    if (current.press(Number(event.key))) event.preventDefault();
  } else if (event.key === "Enter" && !onButton) {
    event.preventDefault();
    current.form.requestSubmit();
  } else if (event.key === "Backspace") {
    event.preventDefault();
    if (!at("back").hidden) at("back").click();
  } else if (event.key.toLowerCase() === "z") {
    current.enlargeFirst();
  }
}

// Shown to a participant whom the platform sent but the study does not admit, with the reason.
class Unwelcome extends Error {
  constructor(refused) {
    super(refused.message);
    this.todo = refused.todo;
  }
}

function failed(problem) {
  if (problem instanceof Unwelcome) {
    sheet("You cannot take part", prose(`${problem.message}. ${problem.todo ?? ""}`));
    return;
  }
  const known = problem instanceof Refused;
  if (known && problem.status === 401) {
    at("top").hidden = true;
    sheet("This link does not work", prose("Please open the study with the personal link that you "
    + "were sent. If you did, it may have been revoked: ask the person who sent it."));
    return;
  }
  sheet("Something went wrong", prose(`${problem.message} ${problem.todo ?? ""}`),
    button("Try again", () => location.reload(), { class: "primary" }));
}

at("back").addEventListener("click", () => back().catch(failed));
at("menu").addEventListener("click", menu);
addEventListener("keydown", onKey);
addEventListener("unhandledrejection", (event) => failed(event.reason));
start().catch(failed);
