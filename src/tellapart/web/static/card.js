// The card of an item, from the JSON of `reports/card.py`: the same markup as in `cards.html`.
// Texts are only ever inserted as text, never as HTML.
import { element } from "./page.js";

export const STATES = {
  r: ["✓", "right", "right"], w: ["✗", "wrong", "wrong"], t: ["=", "tie", "tie"],
  m: ["±", "mixed", "tie"], f: ["!", "no answer", "failed"], "-": ["·", "not asked", "unasked"],
};
const LONG = 16;
const MARGIN = "by how much the right options score higher than the wrong ones";

// No mark if nothing is right or wrong (`state` is null).
export function outcome(state) {
  if (state === null) return "";
  const [mark, name, style] = STATES[state];
  return element("i", { class: style, role: "img", "aria-label": name }, mark);
}

// A number in the format of C's %+.3g, as in the templates.
export function signed(value, digits = 3) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  const [, power] = size.toExponential(digits - 1).split("e");
  const long = size !== 0 && (Number(power) < -4 || Number(power) >= digits);
  const text = long ? size.toExponential(digits - 1).replace(/\.?0*e/, "e").replace(/e([+-])(\d)$/, "e$10$2")
    : String(Number(size.toPrecision(digits)));
  return (value < 0 ? "-" : "+") + text;
}

function picture(shot) {
  const { place, width, height, problem } = shot.thumbnail;
  if (place === null) return absent(shot.letter, problem);
  const size = width ? { width, height } : {};
  const image = element("img", { src: place, ...size, alt: `Picture ${shot.letter}`, decoding: "async", loading: "lazy" });
  image.addEventListener("error", () => image.replaceWith(absent(shot.letter, "The file is missing or broken.")));
  return image;
}

function absent(letter, problem) {
  return element("div", { class: "absent", role: "img", "aria-label": `Picture ${letter} cannot be shown: ${problem}` },
    element("strong", {}, "No picture"), element("span", {}, problem));
}

export function lineText(line) {
  return [line.before, line.foil ? element("mark", {}, line.foil) : "", line.after];
}

// No mark if the truth is unknown (`fits` is null).
function truth(yes, good, bad) {
  if (yes === null) return "";
  return element("span", { class: `truth ${yes ? "yes" : "no"}` },
    element("span", { "aria-hidden": "true" }, yes ? "✓" : "✗"), ` ${yes ? good : bad}`);
}

// Pictures and captions, with which caption is true of which picture.
export function grid(card) {
  const one = card.lines.length === 1;
  const columns = `n${Math.min(card.shots.length, 4)}`;
  const shots = card.shots.map((shot) => element("figure", { class: one && shot.fits?.length ? "fits" : false },
    picture(shot), card.shots.length > 1 ? element("figcaption", {}, element("b", {}, shot.letter),
      ...(one ? [" ", truth(shot.fits && shot.fits.includes(1), "fits", "does not fit")] : [])) : ""));
  const lines = card.lines.map((line) => {
    const said = element("span", { class: "quote" }, element("b", { class: "number" }, String(line.number)), " ", ...lineText(line));
    if (card.shots.length > 1) {
      return element("li", {}, said, element("span", { class: `grid ${columns}` }, ...card.shots.map(
        (shot) => truth(shot.fits && shot.fits.includes(line.number), `fits ${shot.letter}`, `not ${shot.letter}`))));
    }
    return element("li", { class: line.fits?.length ? "fits" : false }, said,
      truth(line.fits && line.fits.length, card.target ? "true" : "fits", line.foil ? "foil" : "does not fit"),
      line.foil ? element("span", { class: "mend" }, "should be ", element("em", {}, card.target)) : "");
  });
  return [
    one ? element("p", { class: "quote" }, ...lineText(card.lines[0])) : "",
    element("div", { class: "body" }, element("div", { class: `shots ${columns}` }, ...shots),
      one ? "" : element("ol", { class: `lines${card.shots.length === 1 ? " beside" : ""}` }, ...lines)),
  ];
}

// The models' answers, one row each.
export function answers(card) {
  const margins = card.rows.some((row) => row.margin !== null);
  const written = card.rows.some((row) => row.verdict === null);
  const heads = card.columns.map(([label, about]) => element("th", { scope: "col" }, element("abbr", { title: about }, label)));
  const rows = card.rows.map((row) => element("tr", {},
    element("th", { scope: "row", title: row.label.length > LONG ? row.label : false }, outcome(row.verdict), " ",
      element("span", { class: "name" }, row.label)),
    ...row.answers.map((one) => element("td", { class: one.state === null ? "plain" : false, title: one.full || false }, `${one.text} `, outcome(one.state))),
    margins ? element("td", { class: "margin" }, signed(row.margin)) : ""));
  return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": written ? "What the systems wrote" : "What the models chose" },
    element("table", { class: `answers${card.columns.length > 4 ? " many" : ""}${written ? " written" : ""}` },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "model"), ...heads,
        margins ? element("th", { scope: "col" }, element("abbr", { title: MARGIN }, "margin")) : "")),
      element("tbody", {}, ...rows)));
}

export function tags(card) {
  return element("p", { class: "tags" }, element("span", {}, card.benchmark),
    card.kind !== card.benchmark ? element("span", {}, card.kind) : "");
}

export function inside(card) {
  return [tags(card), ...grid(card), answers(card)].filter((part) => part !== "");
}
