/** What every page has: the models to choose from, trouble and passwords, the last answers, code to copy. */

import { Client, FingerprintError, ServiceError } from "./mercer-client.js";
import { visible } from "./text.js";

const AGAIN = 4000; // milliseconds before a service that was away is asked again
const KEPT = 8; // answers that are remembered
const COPIED = 1500; // milliseconds for which a button says so

export const home = new URL(".", document.baseURI).href;
export const element = (id) => document.getElementById(id);
const model = new URLSearchParams(location.search).get("model"); // its name; null for the first one
const access = { token: null, clients: new Map(), ask: () => {} };
const answers = []; // { key, label, thumb, restore }
let waiting = 0;

/** A client of the model of this page, the same for the same options. */
export function clientFor(options = {}) {
  const key = JSON.stringify(options);
  if (!access.clients.has(key)) {
    access.clients.set(key, new Client(home, { retries: 1, timeout: 15, token: access.token, model, ...options }));
  }
  return access.clients.get(key);
}

/** A new element of HTML or, with a namespace, of SVG. */
export function make(name, attributes = {}, text = "", space = null) {
  const node = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== "") node.textContent = text;
  return node;
}

/** Fetches the card of the model, and calls `open(card)` once; `ask` asks again what is entered. */
export async function begin(open, ask) {
  access.ask = ask;
  let card, all;
  try {
    card = await clientFor({ retries: 2 }).model();
    all = await clientFor({ retries: 2 }).models();
  } catch (error) {
    if (model !== null && error.status === 404) noSuchModel(error);
    else complain(error, () => begin(open, ask));
    return;
  }
  if (element("main").dataset.opened) return; // asked twice
  const page = document.querySelector("meta[name=mercer-tasks]").content.split(" ");
  if (!page.includes(card.task)) {
    location.reload(); // the service did not know yet, when it gave us this page, what the model takes
    return;
  }
  element("main").dataset.opened = "yes";
  quiet();
  showModels(all, card.served_as);
  const checksum = card.sha256 ? ` · model ${card.sha256.slice(0, 12)}` : "";
  const numbers = card.n_features ? ` · ${card.n_features} numbers per row` : "";
  element("card").textContent = `${card.name} of Mercer ${card.version}${checksum}${numbers}`;
  element("token-form").hidden = !card.needs_token;
  open(card);
  element("main").hidden = false;
}

/** The address names a model that the service does not have. */
function noSuchModel(error) {
  element("title").textContent = "No such model";
  element("lead").textContent = "The address of this page names a model that is not served here.";
  notice(reason(error), "Open the first", () => (location.href = home));
}

function showModels({ models, default: first }, now) {
  element("models").hidden = models.length < 2;
  const options = models.map(({ name }) => make("option", { value: name }, visible(name)));
  element("model").replaceChildren(...options);
  element("model").value = now;
  element("model").addEventListener("change", ({ target }) => {
    location.href = target.value === first ? home : `${home}?model=${encodeURIComponent(target.value)}`;
  });
}

export function later(action, delay) {
  clearTimeout(waiting);
  waiting = setTimeout(action, delay);
}

export function notNow() {
  clearTimeout(waiting);
}

/** Takes files that are dropped on an element to `read`. */
export function acceptDrops(target, read) {
  const over = (event) => {
    event.preventDefault();
    target.classList.toggle("over", event.type === "dragover");
  };
  target.addEventListener("dragover", over);
  target.addEventListener("dragleave", over);
  target.addEventListener("drop", (event) => {
    over(event);
    event.stopPropagation();
    read(event.dataTransfer.files[0]);
  });
}

/** Offers a text as a file. */
export function offerFile(link, name, text, type) {
  if (link.href.startsWith("blob:")) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
}

// ----------------------------------------------------------------------------------------------------------- trouble

/** Says what went wrong; a service that is away or busy is asked again. */
export function complain(error, again) {
  if (error instanceof FingerprintError) {
    const reload = () => location.reload();
    notice("The model of this page has changed. Reload the page to continue.", "Load again", reload);
  } else if (error instanceof ServiceError && error.status === null) {
    notice("The service cannot be reached. The page keeps your input and tries again.", "Ask now", again);
    later(again, AGAIN);
  } else if (error instanceof ServiceError && error.status === 401) {
    quiet();
    if (access.token !== null) element("token-text").textContent = "The service did not accept this token.";
    element("token-form").hidden = false;
    element("token").focus();
  } else if (error instanceof ServiceError && [502, 503].includes(error.status)) {
    notice("The service is busy. The page tries again in a moment.", "Ask now", again);
    later(again, AGAIN);
  } else if (error instanceof ServiceError) {
    const id = error.requestId ? ` (request ${error.requestId})` : "";
    notice(`The request failed: ${reason(error)}${id}`, "Try again", again);
  } else {
    notice(error.message);
  }
}

/** What the service says, without what programmers want to know. */
export function reason(error) {
  return error.message.replace(/^\w+ \S+: \d+, /, "");
}

export function notice(text, label = "", action = null) {
  element("notice").hidden = false;
  element("notice-text").textContent = text;
  const button = element("notice-action");
  button.hidden = !action;
  button.textContent = label;
  button.onclick = action;
}

export function quiet() {
  element("notice").hidden = true;
}

element("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  access.token = element("token").value;
  access.clients.clear();
  element("token-form").hidden = true;
  quiet();
  access.ask();
});
window.addEventListener("online", () => access.ask());

// ---------------------------------------------------------------------------------------------------- last answers

/**
 * Remembers an answer: { key, label, detail, thumb: a canvas, an image or null, restore }. A new answer to what has the
 * same key takes the place of the old one.
 */
export function remember(answer) {
  const known = answers.findIndex(({ key }) => key === answer.key);
  if (known >= 0) answers.splice(known, 1);
  answers.unshift(answer);
  answers.length = Math.min(answers.length, KEPT);
  element("history-card").hidden = false;
  element("history").replaceChildren(...answers.map(shown));
}

function shown({ label, detail, thumb, restore }) {
  const item = make("li");
  const button = item.appendChild(make("button", { type: "button", class: "past" }));
  if (thumb) button.append(thumb);
  button.append(make("strong", {}, visible(label)));
  if (detail) button.append(make("span", { class: "hint" }, visible(detail)));
  button.addEventListener("click", () => {
    restore();
    element("main").scrollIntoView({ block: "start" });
  });
  return item;
}

/** A small copy of a canvas or a loaded image, for the last answers. */
export function thumbOf(source, width, height) {
  const scale = 96 / Math.max(width, height);
  const canvas = make("canvas", { "aria-hidden": "true" });
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = scale < 1;
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  return canvas;
}

// ------------------------------------------------------------------------------------------------------------- code

/** Shows how the same is asked from elsewhere: [name of the language, code] each. */
export function showCode(snippets) {
  const parts = snippets.flatMap(([language, code]) => {
    const head = make("div", { class: "row code-head" });
    const copy = make("button", { type: "button" }, "Copy");
    head.append(make("h3", {}, language), copy);
    copy.addEventListener("click", () => copyText(code, copy));
    const block = make("pre", { tabindex: "0", "aria-label": language });
    block.append(make("code", {}, code));
    return [head, block];
  });
  element("code").replaceChildren(...parts);
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select it by hand"; // a page over plain HTTP may not write to the clipboard
  }
  setTimeout(() => (button.textContent = "Copy"), COPIED);
}

/** The beginning of a command with curl: address, type of the body, and token if there is one. */
export function curl(path, type, card) {
  const token = card.needs_token ? ` \\\n  -H "Authorization: Bearer $MERCER_TOKEN"` : "";
  return `curl -s ${quoted(home.slice(0, -1) + clientFor().base + path)} -H 'Content-Type: ${type}'${token}`;
}

/** What a client is made of, in Python or JavaScript, as text between parentheses. */
export function clientArguments(card, language, more = []) {
  const python = language === "Python";
  const named = (name, value) => (python ? `${name}=${value}` : `${name}: ${value}`);
  const options = [...more.map(([name, value]) => named(name, value))];
  if (model !== null) options.unshift(named("model", JSON.stringify(card.served_as)));
  const token = python ? 'os.environ["MERCER_TOKEN"]' : "process.env.MERCER_TOKEN";
  if (card.needs_token) options.push(named("token", token));
  const url = JSON.stringify(home.slice(0, -1));
  if (!options.length) return url;
  return python ? `${url}, ${options.join(", ")}` : `${url}, { ${options.join(", ")} }`;
}

/** A text in quotes of a shell. */
export function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
