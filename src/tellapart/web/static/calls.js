// Requests to the study's server. Each one is safe to repeat, so a lost connection only means
// waiting: the same request is sent until the server has answered it.

const WAITS = [500, 1000, 2000, 4000, 8000, 15000];
const LATER = new Set([429, 502, 503, 504]);

export class Refused extends Error {
  constructor(status, said) {
    super(said?.what ?? "The server did not understand this page. Please reload it.");
    this.status = status;
    this.todo = said?.todo ?? "";
  }
}

// Send a request once. Throws Refused if the server refuses, anything else if it is unreachable.
export async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Tellapart": "1" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(path, { ...options, cache: "no-store" });
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return said;
  if (LATER.has(answer.status)) throw new Later(answer.headers.get("Retry-After"));
  throw new Refused(answer.status, said.error);
}

class Later extends Error {
  constructor(seconds) {
    super("later");
    this.milliseconds = Math.min(60, Number(seconds) || 0) * 1000;
  }
}

// Repeat a request until there is an answer; calls `waiting(true)` while the server is unreachable.
export async function insist(path, body, waiting) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const said = await call(path, body);
      waiting(false);
      return said;
    } catch (problem) {
      if (problem instanceof Refused) {
        waiting(false);
        throw problem;
      }
      waiting(true);
      const pause = WAITS[Math.min(attempt, WAITS.length - 1)];
      await sleepUntilOnline(Math.max(pause, problem.milliseconds ?? 0));
    }
  }
}

// Wait, but only until the browser is online again.
function sleepUntilOnline(milliseconds) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
  });
}

// The token is after the #, which browsers never send; it is removed from the address.
export function takeToken() {
  const token = location.hash.slice(1);
  if (token) history.replaceState(null, "", location.pathname);
  return token;
}
