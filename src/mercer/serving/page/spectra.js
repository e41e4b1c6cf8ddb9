/** The page of a library of spectra: sends the peaks that were pasted, and shows named hits with mirror plots. */

import { Client } from "./mercer-client.js";
import { visible } from "./text.js";

const HITS = 10;
const home = new URL(".", document.baseURI).href;
const element = (id) => document.getElementById(id);
let most = HITS; // that the service gives
let asked = 0; // number of the last question: older answers are dropped

async function begin() {
  try {
    const card = await new Client(home, { retries: 2 }).model();
    const { spectra, similarity, tolerance, unit } = card.library;
    most = Math.min(HITS, card.limits.max_neighbours);
    element("lead").textContent = `Among ${spectra.toLocaleString("en")} spectra, by the ${
      similarity === "cosine" ? "cosine" : "spectral entropy similarity"
    } of peaks within ${tolerance} ${unit}.`;
    element("card").textContent = `${card.name} of Mercer ${card.version}`;
    for (const id of ["token", "token-label"]) element(id).hidden = !card.needs_token;
  } catch (error) {
    complain(error);
  }
}

async function ask() {
  const number = ++asked;
  const precursor = element("precursor").value.trim();
  const spectrum = { peaks: element("peaks").value, name: "Your spectrum", precursor_mz: null };
  if (precursor !== "") spectrum.precursor_mz = Number(precursor);
  if (Number.isNaN(spectrum.precursor_mz)) {
    complain(new Error("The precursor must be a number, with a point."));
    return;
  }
  if (spectrum.precursor_mz === null && element("mode").value !== "open") {
    complain(new Error("This search needs the m/z of the precursor."));
    return;
  }
  const wanted = new URLSearchParams({ k: most, mirrors: 1, mode: element("mode").value });
  const where = element("where").value.trim();
  if (where) wanted.set("where", where);
  const client = new Client(home, { token: element("token").value || null, retries: 1, timeout: 30 });
  element("search").disabled = true;
  try {
    const body = JSON.stringify({ spectra: [spectrum] });
    const { hits } = await client.request("POST", `/v1/spectra?${wanted}`, body, "application/json");
    if (number === asked) show(hits[0]);
  } catch (error) {
    if (number === asked) complain(error);
  } finally {
    element("search").disabled = false;
  }
}

function show(hits) {
  element("notice").hidden = true;
  element("empty").hidden = hits.length > 0;
  element("empty").textContent = "Nothing in the library has a peak in common with it.";
  element("hint").hidden = !hits.length;
  element("hits").replaceChildren(...hits.map(shown));
}

function shown(hit) {
  const item = document.createElement("li");
  const add = (name, text, style) => {
    const node = item.appendChild(document.createElement(name));
    node.textContent = text;
    if (style) node.className = style;
    return node;
  };
  add("h3", visible(hit.name ?? hit.spectrum_id ?? `library spectrum ${hit.id}`));
  const difference = hit.precursor_difference;
  const facts = [
    `score ${hit.score.toFixed(4)}`,
    `${hit.matched_peaks} matched peak${hit.matched_peaks === 1 ? "" : "s"}`,
    difference === null ? null : `precursor ${difference < 0 ? "\u2212" : "+"}${Math.abs(difference).toFixed(4)}`,
    hit.formula,
    hit.adduct,
    hit.inchikey,
  ];
  add("p", facts.filter((fact) => fact !== null).map(visible).join(" · "), "hint");
  const picture = add("img", "");
  picture.alt = "mirror plot";
  picture.src = `data:image/svg+xml,${encodeURIComponent(hit.mirror)}`;
  return item;
}

/** What the service says, without what programmers want to know. */
function complain(error) {
  element("notice").hidden = false;
  element("notice-text").textContent = error.message.replace(/^\w+ \S+: \d+, /, "");
}

element("asked").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
begin();
