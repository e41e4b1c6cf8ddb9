/** The page of a model of pictures: sends a photograph, and shows its class with what speaks for it, or boxes in it. */

import { showBars } from "./figures.js";
import {
  acceptDrops,
  begin,
  clientArguments,
  clientFor,
  complain,
  curl,
  element,
  later,
  make,
  notice,
  quiet,
  remember,
  showCode,
  thumbOf,
} from "./shell.js";
import { bytesOf, visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const SLOW = 300; // milliseconds before the page says that it waits
const PAUSE = 300; // milliseconds after a change of the threshold before it is sent
const PATIENCE = 60; // seconds
const LEAST = [320, 400]; // width and height, in CSS pixels, of which a picture fills one
const LETTERS = 14; // CSS pixels
const TAKEN = ["image/png", "image/jpeg"]; // other formats are turned into JPEG
const FOUND = "found"; // in place of a class: the one that is found

const state = {
  card: null,
  picture: null, // { name, blob, width, height, url, note }
  asked: 0, // number of the last question: older answers are dropped
};

function open(card) {
  state.card = card;
  const detects = card.task === "detection";
  element("title").textContent = detects ? "Find objects in a picture" : "Show it a picture";
  document.title = `${element("title").textContent} · Mercer`;
  const does = detects ? "draws a box around each object" : "names its class, and explains it";
  element("lead").textContent = `The service looks at your picture and ${does}. Pictures are not stored.`;
  element("of-images").hidden = detects;
  element("of-boxes").hidden = !detects;
  element("threshold").placeholder = detects ? card.threshold.toPrecision(3) : "";
  const classes = (card.classes ?? []).map((name) => make("option", { value: String(name) }, visible(name)));
  element("explained").replaceChildren(make("option", { value: FOUND }, "the class that is found"), ...classes);
  showCode(detects ? detectorSnippets(card) : classSnippets(card));
}

// ---------------------------------------------------------------------------------------------------------- question

/** Takes a file: what the browser can show and the service takes. */
async function take(file) {
  if (!file) return;
  let image;
  try {
    image = await createImageBitmap(file);
  } catch {
    notice(`${file.name} is not a picture that this browser can read. Choose a PNG or JPEG file.`);
    return;
  }
  const { width, height } = image;
  const { max_body_bytes: bytes, max_pixels: pixels } = state.card.limits;
  let [blob, note] = [file, ""];
  if (!TAKEN.includes(file.type) || file.size > bytes || width * height > pixels) {
    blob = await smaller(image, bytes, Math.min(1, Math.sqrt(pixels / (width * height))));
    note = file.type && !TAKEN.includes(file.type) ? ", as JPEG" : ", made smaller for the service";
  }
  show({ name: file.name || "pasted picture", blob, width, height, note, image });
}

/** The picture as JPEG, at a scale at which it has few enough bytes. */
async function smaller(image, bytes, scale) {
  for (;;) {
    const canvas = make("canvas");
    canvas.width = Math.max(1, Math.floor(image.width * scale));
    canvas.height = Math.max(1, Math.floor(image.height * scale));
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.92));
    if (blob.size <= bytes || scale < 0.02) return blob;
    scale *= 0.75;
  }
}

function show(picture) {
  if (state.picture) URL.revokeObjectURL(state.picture.url);
  state.picture = { ...picture, url: URL.createObjectURL(picture.blob) };
  element("photo").src = state.picture.url;
  element("photo").alt = visible(picture.name);
  const larger = Math.min(LEAST[0] / picture.width, LEAST[1] / picture.height);
  if (larger > 1) element("photo").width = Math.round(larger * picture.width);
  else element("photo").removeAttribute("width");
  element("seen").hidden = false;
  clear();
  ask();
}

/** Nothing is said of the picture yet. */
function clear() {
  for (const id of ["overlay", "boxes", "legend", "bars", "bars-hint", "verdict"]) {
    element(id).toggleAttribute("hidden", true);
  }
  element("answer-empty").hidden = true;
  element("main").dataset.state = "asking";
}

async function ask() {
  if (!state.picture) return;
  const number = ++state.asked;
  const { picture } = state;
  const kept = element("sent");
  const slow = setTimeout(() => {
    element("busy").hidden = false;
  }, SLOW);
  kept.textContent = `Sent ${bytesOf(picture.blob.size)}${picture.note}: ${visible(picture.name)}`;
  element("main").dataset.state = "asking";
  try {
    const client = clientFor({ timeout: PATIENCE });
    const answer = await (state.card.task === "detection" ? detected(client, picture) : classified(client, picture));
    if (number !== state.asked) return;
    const label = answer.show();
    quiet();
    element("main").dataset.state = "answered";
    const { name, image, width, height } = picture;
    remember({ key: picture.url, label, detail: name, thumb: thumbOf(image, width, height), restore: () => show(picture) });
  } catch (error) {
    if (number === state.asked) complain(error, ask);
  } finally {
    clearTimeout(slow);
    if (number === state.asked) element("busy").hidden = true;
  }
}

async function classified(client, picture) {
  const chosen = element("explained").value;
  const answer = await client.classifyPicture(picture.blob, { explain: true, label: chosen === FOUND ? null : chosen });
  return { show: () => showClass(answer) };
}

async function detected(client, picture) {
  const threshold = element("threshold").value.trim();
  const answer = await client.detect(picture.blob, { threshold: threshold === "" ? null : Number(threshold) });
  return { show: () => showObjects(answer) };
}

// ------------------------------------------------------------------------------------------------------------ answer

function showClass({ labels, classes, scores, explanation }) {
  const label = visible(labels[0]);
  showVerdict(label);
  element("overlay").src = explanation.overlay;
  showOverlay();
  element("bars").hidden = element("bars-hint").hidden = false;
  element("bars-hint").textContent = `The longer a bar, the more the model leans to that class. Laid over the picture: ${
    explanation.measure === "additive" ? "shares of the score" : "loss of score without each part"
  } of ${visible(explanation.label)}.`;
  showBars(element("bars"), classes, scores[0]);
  return label;
}

function showOverlay() {
  const hidden = !element("overlaid").checked || !element("overlay").src;
  element("overlay").hidden = element("legend").hidden = hidden;
}

function showObjects({ boxes, scores, parts, threshold, width, height }) {
  const found = `${boxes.length || "no"} object${boxes.length === 1 ? "" : "s"}`;
  showVerdict(found);
  const svg = element("boxes");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", `${found} in a picture of ${width} by ${height} pixels`);
  svg.removeAttribute("hidden");
  const size = (LETTERS * width) / (element("photo").clientWidth || width);
  const drawn = boxes.flatMap((box, i) => [
    ...parts[i].map((part) => rectangle(part, "part")),
    rectangle(box, "object"),
    labelOf(box, `${i + 1}: ${scores[i].toPrecision(2)}`, size),
  ]);
  svg.replaceChildren(...drawn);
  element("bars").hidden = !boxes.length;
  element("bars").classList.add("places");
  if (boxes.length) {
    const names = boxes.map(([left, top, right, bottom], i) => {
      return `${i + 1}: ${Math.round(right - left)} × ${Math.round(bottom - top)} at ${Math.round(left)}, ${Math.round(top)}`;
    });
    showBars(element("bars"), names, scores, (score) => score.toPrecision(3), Math.min(threshold, ...scores));
  }
  element("bars-hint").hidden = false;
  const few = "No object has a higher score. Lower the minimum score to see more.";
  const many = "Width × height and upper left corner in pixels, and the score. Thin boxes are parts.";
  element("bars-hint").textContent = boxes.length ? many : few;
  return found;
}

function rectangle([left, top, right, bottom], kind) {
  return make("rect", { class: kind, x: left, y: top, width: right - left, height: bottom - top }, "", SVG);
}

function labelOf([left, top], text, size) {
  const y = Math.max(top - size / 4, size);
  return make("text", { class: "score-label", x: left, y, "font-size": size }, text, SVG);
}

function showVerdict(text) {
  element("verdict").hidden = false;
  element("verdict").textContent = text;
  element("verdict").classList.toggle("long", text.length > 14);
}

// -------------------------------------------------------------------------------------------------------------- code

function classSnippets(card) {
  const path = "/classify?explain=1";
  const python = [`print(client.classify_pictures(["photo.jpg"]).labels)`];
  const javascript = ["const answer = await client.classifyPicture(photo, { explain: true });", "console.log(answer.labels);"];
  return snippets(card, path, python, javascript);
}

function detectorSnippets(card) {
  const python = [`print(client.detect("photo.jpg").boxes)`];
  return snippets(card, "/detect", python, ["const answer = await client.detect(photo);", "console.log(answer.boxes);"]);
}

function snippets(card, path, python, javascript) {
  const made = `client = Client(${clientArguments(card, "Python")})`;
  const node = [
    'import { openAsBlob } from "node:fs";',
    'import { Client } from "./mercer-client.js";',
    "",
    `const client = new Client(${clientArguments(card, "JavaScript")});`,
    'const photo = await openAsBlob("photo.jpg", { type: "image/jpeg" });',
  ];
  const first = [...(card.needs_token ? ["import os"] : []), "from mercer import Client", "", made];
  return [
    ["curl", `${curl(path, "image/jpeg", card)} --data-binary @photo.jpg`],
    ["Python", [...first, ...python].join("\n")],
    ["JavaScript", [...node, ...javascript].join("\n")],
  ];
}

// ------------------------------------------------------------------------------------------------------------ events

element("file").addEventListener("change", (event) => {
  take(event.target.files[0]);
  event.target.value = ""; // so that the same file may be chosen again
});
acceptDrops(element("drop"), take);
acceptDrops(document.body, take);
document.addEventListener("paste", (event) => {
  const [file] = event.clipboardData?.files ?? [];
  if (file) take(file);
});
element("overlaid").addEventListener("change", showOverlay);
element("explained").addEventListener("change", ask);
element("threshold").addEventListener("input", () => later(ask, PAUSE));
begin(open, ask);
