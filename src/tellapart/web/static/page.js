// Elements, and the simple markup of instructions. Texts are only ever inserted as text, never as HTML.

export function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...inside.filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

export function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, label);
}

// Renders the paragraphs, "- " lists and **bold** of a plain text.
export function prose(text) {
  const box = element("div", { class: "prose" });
  for (const block of text.trim().split(/\n\s*\n/)) {
    const lines = block.split("\n");
    if (lines[0].startsWith("- ")) {
      const items = [];
      for (const line of lines) {
        if (line.startsWith("- ")) items.push(line.slice(2));
        else if (items.length) items[items.length - 1] += ` ${line.trim()}`;
      }
      box.append(element("ul", {}, ...items.map((item) => element("li", {}, ...bold(item)))));
    } else {
      box.append(element("p", {}, ...bold(lines.join(" "))));
    }
  }
  return box;
}

function bold(text) {
  return text.split("**").map((part, k) => (k % 2 ? element("strong", {}, part) : part));
}

// A picture that reports when it has loaded, and offers a retry if it fails.
export function picture(address, label, ready) {
  const box = element("span", { class: "picture loading" });
  const load = (again) => {
    const image = element("img", { alt: label, decoding: "async", draggable: "false" });
    image.addEventListener("load", () => {
      box.className = "picture";
      box.style.setProperty("--ratio", image.naturalWidth / image.naturalHeight);
      ready();
    });
    image.addEventListener("error", () => {
      box.className = "picture broken";
      const retry = button("The picture did not load. Try again", (event) => {
        event.preventDefault();
        box.className = "picture loading";
        load(true);
      });
      box.replaceChildren(retry);
    });
    image.src = again ? `${address}?again=${Date.now()}` : address;
    box.replaceChildren(image);
  };
  load(false);
  return box;
}

// The dialog for enlarged pictures, instructions and "are you sure?".
export function openDialog(label, ...inside) {
  const dialog = element("dialog", { "aria-label": label });
  const close = () => dialog.close();
  dialog.append(button("Close", close, { class: "close", "aria-label": "Close" }), ...inside);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function enlarge(address, label) {
  const image = element("img", { src: address, alt: label });
  const dialog = openDialog(label, image);
  dialog.classList.add("enlarged");
  image.addEventListener("click", () => dialog.close());
}
