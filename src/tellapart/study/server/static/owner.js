// The owner's page: progress, agreement, people and items.
import { insist, takeToken, Refused } from "../shared/calls.js";
import { element, button, openDialog, prose } from "../shared/page.js";
import { grid } from "../shared/card.js";

const LOOK_AGAIN = 10000;
const FORMS = ["csv", "parquet", "json"];
const STATES = { active: "takes part", excluded: "excluded", revoked: "link revoked" };

const page = document.getElementById("page");
const connection = document.getElementById("connection");
const waiting = (lost) => {
  connection.hidden = !lost;
  connection.textContent = lost ? "The server cannot be reached. Trying again …" : "";
};
const ask = (path, body) => insist(`/api/owner/${path}`, body, waiting);

const parts = Object.fromEntries(["stages", "agreement", "people", "items"].map(
  (name) => [name, element("section", { id: name })]));

async function start() {
  const token = takeToken();
  if (token) await ask("join", { token });
  const status = await ask("status");
  document.title = `${status.study}: owner`;
  page.replaceChildren(
    element("header", { class: "bar" }, element("h1", {}, status.study),
      element("nav", { "aria-label": "Export" }, "Judgements: ",
        ...FORMS.map((form) => element("a", { href: `/api/owner/judgements.${form}`, download: true }, form)),
        button("Sign out", async () => { await ask("leave", {}); location.reload(); }))),
    parts.stages, parts.agreement, parts.people, parts.items);
  await drawItems(status.stages);
  await refresh(status);
  setInterval(() => { if (!document.hidden) refresh().catch(failed); }, LOOK_AGAIN);
}

async function refresh(known = null) {
  const status = known ?? await ask("status");
  drawStages(status);
  drawAgreement(await ask("agreement"));
  drawPeople(await ask("people"));
}

function table(caption, heads, rows) {
  if (!rows.length) return element("p", { class: "hint" }, `${caption}: nothing yet.`);
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(
        (cell) => element("td", {}, cell instanceof Node ? cell : String(cell))))))));
}

function share(done, of, label) {
  return element("span", { class: "share" },
    element("progress", { value: done, max: Math.max(of, 1), "aria-label": label }), ` ${done} of ${of}`);
}

function drawStages(status) {
  const rows = status.stages.map((one) => [one.stage, one.ask, share(one.closed, one.items, "items finished"),
    one.kept, share(one.given, one.wanted, "judgements given"), one.held]);
  parts.stages.replaceChildren(element("h2", {}, "Progress"), table("Stages",
    ["Stage", "Question", "Items finished", "Kept", "Judgements", "Being answered now"], rows));
}

function drawAgreement(found) {
  const rows = found.map((one) => [one.stage, one.measure + (one.about === "answer" ? "" : ` (${one.about})`), number(one.value),
    `${number(one.low)} to ${number(one.high)}`, one.items]);
  parts.agreement.replaceChildren(element("h2", {}, "Agreement"),
    table("Agreement", ["Stage", "Measure", "Value", "95% interval", "Items judged twice or more"], rows));
}

const number = (value) => (value === null ? "–" : value.toFixed(3));
const ratio = ([right, of]) => (of ? `${right} of ${of}` : "–");
const seconds = (value) => (value === null ? "–" : `${(value / 1000).toFixed(1)} s`);
const when = (value) => (value === null ? "never"
  : new Date(value).toLocaleString([], { dateStyle: "short", timeStyle: "short" }));

function drawPeople(people) {
  const rows = people.map((one) => [one.code + (one.label ? ` (${one.label})` : ""), STATES[one.state] ?? one.state,
    one.judgements, seconds(one.median_milliseconds), ratio(one.training), ratio(one.checks), ratio(one.gold),
    ratio(one.with_majority), when(one.seen_at), actions(one)]);
  parts.people.replaceChildren(element("h2", {}, "People"), inviting(), table("People",
    ["Who", "State", "Judgements", "Median time", "Practice right", "Checks passed", "Gold right",
      "With the majority", "Last seen", "Change"], rows));
}

function actions(one) {
  const act = (label, what, sure = "") => button(label, () => (sure
    ? confirmed(sure, () => change(one, what)) : change(one, what)), { "aria-label": `${label}: ${one.code}` });
  return element("span", { class: "actions" },
    one.state === "active" ? act("Exclude", "exclude") : act("Restore", "restore"),
    one.state === "active" ? act("Revoke link", "revoke", "This person's link will stop working.") : null,
    act("Delete", "delete", "All answers of this person will be deleted for good."));
}

function confirmed(text, act) {
  const dialog = openDialog("Are you sure?", element("h2", {}, "Are you sure?"), prose(text));
  dialog.append(element("div", { class: "send" },
    button("Yes", () => { dialog.close(); act(); }, { class: "danger" }), button("No", () => dialog.close())));
}

async function change(one, what) {
  await ask(`people/${encodeURIComponent(one.code)}/${what}`, {});
  await refresh();
}

function inviting() {
  const many = element("input", { type: "number", min: "1", max: "500", value: "1", id: "many" });
  const label = element("input", { type: "text", id: "label", maxlength: "60", placeholder: "a note for yourself" });
  const form = element("form", { class: "inline" }, element("label", { for: "many" }, "Invite "), many,
    element("label", { for: "label" }, " people, label "), label, element("button", { type: "submit" }, "Create links"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const links = await ask("invite", { people: Number(many.value), label: label.value });
    showLinks(links);
    await refresh();
  });
  return form;
}

function showLinks(links) {
  const text = links.map((one) => one.link).join("\n");
  const area = element("textarea", { readonly: true, rows: String(Math.min(12, links.length + 1)), cols: "60",
    "aria-label": "Personal links" });
  area.value = text;
  openDialog("Personal links", element("h2", {}, "Personal links"), prose(
    "One link per person. They are shown **only now**: copy them before you close this window."), area,
  element("div", { class: "send" }, button("Copy", (event) => {
    navigator.clipboard?.writeText(text).then(() => { event.target.textContent = "Copied"; });
  }, { class: "primary" })));
}

// An item as people see it: its pictures and captions, and below them its name.
function look(one) {
  const shots = Array.from({ length: one.pictures }, (_, place) => ({ letter: String.fromCharCode(65 + place), fits: null,
    thumbnail: { place: `/api/owner/pictures/${one.task}-${place}`, width: 0, height: 0, problem: "" } }));
  const lines = one.captions.map((text, k) => ({ number: k + 1, before: text, foil: "", after: "", fits: null }));
  return element("div", { class: "card item" }, ...grid({ shots, lines, target: "" }).filter((part) => part !== ""), element("code", {}, one.item));
}

function right(one) {
  if (!one.right.length) return "unknown";
  if (one.chosen === null) return one.right.join(", ");
  return `${one.right.join(", ")} ${one.right.includes(one.chosen) ? "✓" : "✗"}`;
}

async function drawItems(stages) {
  const chosen = element("select", { id: "stage" }, ...stages.map((one) => element("option", { value: one.stage }, one.stage)));
  const state = element("select", { id: "state" }, element("option", { value: "closed" }, "finished"),
    element("option", { value: "open" }, "open"));
  // The owner may share the screen with annotators, so right answers are shown only on request.
  const truth = element("input", { type: "checkbox", id: "truth" });
  const list = element("div", {});
  const show = async (after = 0) => {
    const query = new URLSearchParams({ stage: chosen.value, state: state.value, after: String(after), truth: String(truth.checked) });
    const found = await ask(`items?${query}`);
    const rows = found.items.map((one) => [look(one), one.question, `${one.given} of ${one.wanted}`,
      one.kept === null ? "–" : one.kept ? "kept" : "dropped", one.chosen ?? "–", ...(truth.checked ? [right(one)] : []),
      one.state === "closed" ? button("Reopen", async () => {
        await ask(`items/${one.task}/reopen`, {});
        await show(after);
      }, { "aria-label": `Reopen: ${one.item} ${one.question}` }) : ""]);
    list.replaceChildren(table("Items", ["Item", "Question", "Judgements", "Verdict", "Chosen", ...(truth.checked ? ["Right answer"] : []), "Change"], rows),
      ...(found.after === null ? [] : [button("More", () => show(found.after))]));
  };
  chosen.addEventListener("change", () => show().catch(failed));
  for (const field of [state, truth]) field.addEventListener("change", () => show().catch(failed));
  parts.items.replaceChildren(element("h2", {}, "Items"), element("p", { class: "inline" },
    element("label", { for: "stage" }, "Stage "), chosen, element("label", { for: "state" }, " state "), state,
    truth, element("label", { for: "truth" }, "show right answers")), list);
  await show();
}

function failed(problem) {
  const strange = problem instanceof Refused && problem.status === 401;
  page.replaceChildren(element("section", { class: "sheet" }, element("h1", {}, strange ? "Not signed in" : "Something went wrong"),
    prose(strange ? "Open this page with the owner's link that `tellapart study serve` prints."
      : `${problem.message} ${problem.todo ?? ""}`)));
}

addEventListener("unhandledrejection", (event) => failed(event.reason));
start().catch(failed);
