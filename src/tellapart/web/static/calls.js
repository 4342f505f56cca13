// Requests to the study's server; every one that changes something carries the header.
export async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Tellapart": "1" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const said = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(said.error?.what ?? "failed"), { status: answer.status, said });
  return said;
}

// The token stands behind the #, which browsers send to nobody; then it goes from the address.
export function takeToken() {
  const token = location.hash.slice(1);
  if (token) history.replaceState(null, "", location.pathname);
  return token;
}

export function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...inside);
  return made;
}
