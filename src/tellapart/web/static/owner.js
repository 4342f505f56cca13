// A plain page: how far the study is.
import { call, element, takeToken } from "./calls.js";

const page = document.getElementById("page");
const token = takeToken();
try {
  if (token) await call("/api/owner/join", { token });
  const status = await call("/api/owner/status");
  page.replaceChildren(element("pre", {}, JSON.stringify(status, null, 2)),
    element("a", { href: "/api/owner/judgements.csv" }, "judgements.csv"));
} catch (error) {
  page.replaceChildren(element("p", { role: "alert" }, error.message));
}
