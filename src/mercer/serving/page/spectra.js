/** The page of a library of spectra: sends the peaks that were pasted, and shows named hits with mirror plots. */

import {
  begin,
  clientArguments,
  clientFor,
  complain,
  curl,
  element,
  home,
  make,
  notice,
  quiet,
  quoted,
  remember,
  showCode,
} from "./shell.js";
import { visible } from "./text.js";

const HITS = 10;
const FIELDS = ["peaks", "precursor", "mode", "where"];
const EXAMPLE = { peaks: [[50.01, 10], [80, 99], [94.02, 40]] };
let most = HITS; // that the service gives
let asked = 0; // number of the last question: older answers are dropped

function open(card) {
  const { spectra, similarity, tolerance, unit } = card.library;
  most = Math.min(HITS, card.limits.max_neighbors);
  const measure = similarity === "cosine" ? "cosine" : "spectral entropy similarity";
  element("lead").textContent =
    `Searches ${spectra.toLocaleString("en")} spectra by the ${measure} of peaks within ${tolerance} ${unit}.`;
  const body = JSON.stringify({ spectra: [EXAMPLE] });
  const javascript = [
    'import { Client } from "./mercer-client.js";',
    "",
    `const client = new Client(${clientArguments(card, "JavaScript")});`,
    `const body = JSON.stringify({ spectra: [${JSON.stringify(EXAMPLE)}] });`,
    'const { hits } = await client.request("POST", `${client.base}/spectra?k=5`, body, "application/json");',
    "console.log(hits[0]);",
  ];
  const token = card.needs_token ? ', "Authorization": "Bearer " + os.environ["MERCER_TOKEN"]' : "";
  const python = [
    "import json",
    ...(card.needs_token ? ["import os"] : []),
    "from urllib.request import Request, urlopen",
    "",
    `url = ${JSON.stringify(`${home.slice(0, -1)}${clientFor().base}/spectra?k=5`)}`,
    `body = json.dumps({"spectra": [${JSON.stringify(EXAMPLE)}]}).encode()`,
    `answer = urlopen(Request(url, body, {"Content-Type": "application/json"${token}}))`,
    'print(json.load(answer)["hits"][0])',
  ];
  showCode([
    ["curl", `${curl("/spectra?k=5", "application/json", card)} \\\n  -d ${quoted(body)}`],
    ["Python", python.join("\n")],
    ["JavaScript", javascript.join("\n")],
  ]);
}

async function ask() {
  const number = ++asked;
  const fields = FIELDS.map((id) => element(id).value);
  const [peaks, precursor, mode, where] = fields.map((text) => text.trim());
  const spectrum = { peaks, name: "Your spectrum", precursor_mz: precursor === "" ? null : Number(precursor) };
  if (Number.isNaN(spectrum.precursor_mz)) {
    notice("The precursor must be a number with a decimal point.");
    return;
  }
  if (spectrum.precursor_mz === null && mode !== "open") {
    notice("This search needs the m/z of the precursor.");
    return;
  }
  if (!peaks) return;
  const wanted = new URLSearchParams({ k: most, mirrors: 1, mode, ...(where && { where }) });
  const client = clientFor({ timeout: 30 });
  element("search").disabled = true;
  element("busy").hidden = false;
  try {
    const body = JSON.stringify({ spectra: [spectrum] });
    const { hits } = await client.request("POST", `${client.base}/spectra?${wanted}`, body, "application/json");
    if (number !== asked) return;
    show(hits[0]);
    const restore = () => {
      FIELDS.forEach((id, i) => (element(id).value = fields[i]));
      ask();
    };
    const [best] = hits[0];
    const label = best ? `${best.name ?? best.spectrum_id ?? best.id}` : "nothing found";
    remember({ key: fields.join("\0"), label, detail: peaks.split("\n", 1)[0], thumb: null, restore });
  } catch (error) {
    if (number === asked) complain(error, ask);
  } finally {
    element("search").disabled = false;
    element("busy").hidden = true;
  }
}

function show(hits) {
  quiet();
  element("empty").hidden = hits.length > 0;
  element("empty").textContent = "Nothing in the library has a peak in common with it.";
  element("hint").hidden = !hits.length;
  element("hits").replaceChildren(...hits.map(shown));
}

function shown(hit) {
  const item = make("li");
  const add = (name, text, style) => {
    return item.appendChild(make(name, style ? { class: style } : {}, text));
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

element("asked").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
begin(open, ask);
