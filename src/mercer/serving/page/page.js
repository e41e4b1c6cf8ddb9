/** The page: asks what the model looks at, makes bits of what is entered, sends them and shows what comes back. */

import { FingerprintError, ServiceError } from "./mercer-client.js";
import { percent, showBars, showBits, showCurve, showNear } from "./figures.js";
import { openInput } from "./inputs.js";
import {
  begin,
  clientArguments,
  clientFor,
  complain,
  curl,
  element,
  later,
  make,
  notice,
  notNow,
  quiet,
  quoted,
  reason,
  remember,
  showCode,
} from "./shell.js";
import { askTable, hideTable } from "./tables.js";
import { bytesOf, visible } from "./text.js";

const NEAR = 8; // examples that are shown
const PAUSE = 120; // milliseconds after a change before it is sent
const SLOW = 300; // milliseconds before the page says that it waits
const NEAR_EMPTY = "They appear with the answer.";

const state = {
  card: null,
  bits: null,
  row: null,
  table: null, // { text, name }, if several rows are entered
  asked: 0, // number of the last question: older answers are dropped
  shown: null, // what refreshes with the color scheme
  rowsHidden: false, // whether the service keeps the rows of its index to itself
};
let input = null;

// --------------------------------------------------------------------------------------------------------- beginning

function open(card) {
  state.card = card;
  input = openInput(card, changed);
  element("title").textContent = input.title;
  document.title = `${input.title} · Mercer`;
  const raw = `This ${searches(card) ? "index" : "model"} takes raw numbers, which the page sends to it.`;
  element("lead").textContent = card.rates.length ? input.lead : raw;
  element("answer-card").hidden = searches(card);
  element("input-card").classList.toggle("wide", searches(card));
  element("answer-empty").textContent = input.empty;
  element("near-card").hidden = !card.index || (card.rates.length > 0 && !card.index.takes_codes);
  state.rowsHidden = card.index?.shows_rows === false;
  openRates();
  openWhere(card.index?.data);
  showCode(snippets(card));
  element("main").hidden = false; // the sizes of what follows are those of the page
  input.refresh();
  showNothing();
}

/** The same question from elsewhere. */
function snippets(card) {
  const row = new Array(card.n_features).fill(1);
  const question = searches(card) ? "neighbors" : "classify";
  const shown = searches(card) ? "ids" : "labels";
  const columns = card.columns ? { columns: card.columns } : {};
  const raw = card.rates.length ? [] : [["raw", true]];
  const rows = JSON.stringify([row]);
  const names = card.columns && !card.rates.length ? `, columns=${JSON.stringify(card.columns)}` : "";
  const python = [
    ...(card.needs_token ? ["import os"] : []),
    ...(names ? ["import pandas as pd"] : []),
    "from mercer import Client",
    "",
    `client = Client(${clientArguments(card, "Python", raw.map(([name]) => [name, "True"]))})`,
    `X = ${names ? `pd.DataFrame(${rows}${names})` : rows}`,
    `print(client.${question}(X).${shown})`,
  ];
  const more = card.columns && !card.rates.length ? `, ${searches(card) ? "10, " : ""}${JSON.stringify(card.columns)}` : "";
  const javascript = [
    'import { Client } from "./mercer-client.js";',
    "",
    `const client = new Client(${clientArguments(card, "JavaScript", raw)});`,
    `const answer = await client.${question}(${rows}${more});`,
    `console.log(answer.${shown});`,
  ];
  const body = quoted(JSON.stringify({ rows: [row], ...columns }));
  return [
    ["curl", `${curl(`/${question}`, "application/json", card)} \\\n  -d ${body}`],
    ["curl, for a table", `${curl(`/${question}`, "text/csv", card)} --data-binary @table.csv > answers.csv`],
    ["Python", python.join("\n")],
    ["JavaScript", javascript.join("\n")],
  ];
}

/** Whether the service has an index and no model. */
function searches(card) {
  return card.task === "search";
}

/** The condition on the columns of the index, if it has some. */
function openWhere(columns) {
  const names = Object.entries(columns ?? {}).map(([name, type]) => `${visible(name)} (${type})`);
  element("where-row").hidden = element("where-help").hidden = !names.length;
  element("where-help").textContent = `Columns: ${names.join(", ")}. As in: ${conditionOn(columns ?? {})}.`;
  element("where").addEventListener("input", () => changed(state.row, null, state.table));
}

/** An example of a condition: on the first two columns. */
function conditionOn(columns) {
  const leaf = ([name, type]) => {
    const quotedName = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
    return `${visible(quotedName)} ${{ text: "= 'abc'", boolean: "= true" }[type] ?? ">= 1"}`;
  };
  return Object.entries(columns).slice(0, 2).map(leaf).join(" and ");
}

function openRates() {
  const { rates, curve } = state.card;
  if (!rates.length) {
    element("sent-card").classList.add("wide");
    return;
  }
  // the curve stands above the slider, point above place, so it must have the same rates
  const matched = curve?.length === rates.length && curve.every((point, i) => point.bits === rates[i]);
  if (!matched) state.card.curve = null;
  const slider = element("rate");
  slider.max = rates.length - 1;
  slider.value = matched ? preferred(curve) : Math.floor(rates.length / 2);
  state.bits = rates[slider.value];
  element("rate-least").textContent = `${rates[0]} bits`;
  element("rate-most").textContent = `${rates.at(-1)} bits`;
  element("rate-card").hidden = rates.length < 2;
  element("sent-card").classList.toggle("wide", rates.length < 2);
  element("rate-card").classList.toggle("with-curve", matched);
  element("curve-figure").hidden = !matched;
  new ResizeObserver(showRate).observe(element("curve-figure"));
  slider.addEventListener("input", () => {
    state.bits = rates[slider.value];
    showRate();
    changed(state.row, null, state.table);
  });
  showRate();
}

/** The place of the first rate whose accuracy is within a point of the best. */
function preferred(curve) {
  const best = Math.max(...curve.map((point) => point.accuracy));
  return curve.findIndex((point) => point.accuracy >= best - 0.01);
}

function showRate() {
  const { bits, card } = state;
  const point = card.curve?.find((each) => each.bits === bits);
  const right = point ? `, accuracy ${percent(point.accuracy, 1)}` : "";
  element("rate-now").replaceChildren(strong(`${bits} bits`), right);
  element("rate").setAttribute("aria-valuetext", `${bits} bits${right}`);
  if (card.curve) showCurve(element("curve"), card.curve, bits);
}

function strong(text) {
  return make("strong", {}, text);
}

// ---------------------------------------------------------------------------------------------------------- question

function changed(row, problem = null, table = null) {
  state.row = row;
  state.table = table;
  if (problem) notice(problem);
  else quiet();
  if (row || table) {
    element("main").dataset.state = "asking";
    later(ask, PAUSE);
  } else {
    state.asked++;
    notNow();
    showNothing();
  }
}

async function ask() {
  if (!state.row && !state.table) return;
  const number = ++state.asked;
  const slow = setTimeout(() => {
    element("busy").hidden = false;
    markStale();
  }, SLOW);
  try {
    const past = input.past();
    const told = state.table ? await answerTable(number) : await answerRow(number);
    if (number !== state.asked) return;
    remember({ ...past, ...told });
    element("main").classList.remove("stale");
    element("main").dataset.state = "answered";
    quiet();
  } catch (error) {
    if (number !== state.asked) return;
    markStale();
    complain(error, ask);
  } finally {
    clearTimeout(slow);
    if (number === state.asked) element("busy").hidden = true;
  }
}

/** Asks about the row, and shows the answer; returns what the history says of it. */
async function answerRow(number) {
  hideTable();
  const answer = await askBoth(state.card.rates.length ? await byBits(number) : byRow(), number);
  if (number !== state.asked) return {};
  if (!answer) return { label: element("near").querySelector(".id")?.textContent ?? "nothing found" };
  showAnswer(answer);
  return { label: element("verdict").textContent };
}

/** The same of a table. */
async function answerTable(number) {
  showNothing();
  const bytes = strong(bytesOf(new Blob([state.table.text]).size));
  element("bytes").replaceChildren("Sent ", bytes, ", the table as it is");
  const told = await askTable(state.table, state.card, element("where").value.trim());
  element("near-empty").textContent = "For a table, neighbors are in the table below.";
  if (number !== state.asked) return {};
  element("answer-empty").hidden = true;
  element("verdict").hidden = false;
  element("verdict").textContent = told.label;
  element("bars").hidden = !state.card.classes;
  element("bars-hint").textContent = "A longer bar means more rows with that answer.";
  element("bars-hint").hidden = !state.card.classes;
  return told;
}

/** The answer that is shown, if there is one, is of something else than what is entered now. */
function markStale() {
  element("main").classList.toggle("stale", !element("verdict").hidden);
}

/** The function that sends the bits of the row to a path. */
async function byBits(number) {
  const client = clientFor({ bits: state.bits });
  const embedding = await client.embedding();
  if (JSON.stringify(embedding.columns) !== JSON.stringify(state.card.columns)) {
    throw new FingerprintError("The model now has different columns."); // the row is in the order of the card
  }
  const code = embedding.encode([state.row]);
  if (number === state.asked) showSent(code, embedding);
  return (path) => client.send(path, code);
}

/** The function that sends the row itself. */
function byRow() {
  const { columns } = state.card;
  const body = JSON.stringify({ rows: [state.row], ...(columns && { columns }) });
  element("bytes").replaceChildren("Sent ", strong(bytesOf(new Blob([body]).size)), ", the numbers as text");
  return (path) => clientFor().request("POST", path, body, "application/json");
}

/** The answer; the nearest examples show themselves when they come. */
async function askBoth(send, number) {
  const near = element("near-card").hidden ? null : askNear(send).catch(failed);
  const shown = near?.then((found) => number === state.asked && showNearest(found));
  if (!searches(state.card)) return send(`${clientFor().base}/classify`);
  await shown;
  return null;
}

/** A condition that the service does not take is told beside it; without a model, everything else above the page. */
function failed(error) {
  if (error.code === "where") return error;
  if (searches(state.card)) throw error;
  return null;
}

async function askNear(send) {
  const where = element("where").value.trim();
  const path = `${clientFor().base}/neighbors?k=${Math.min(NEAR, state.card.limits.max_neighbors)}${where ? `&where=${encodeURIComponent(where)}` : ""}`;
  if (!state.rowsHidden) {
    try {
      return await send(`${path}&rows=1`);
    } catch (error) {
      if (error.status !== 403) throw error;
      state.rowsHidden = true;
    }
  }
  return send(path);
}

// ------------------------------------------------------------------------------------------------------------ answer

function showAnswer({ labels, classes, scores }) {
  const label = labels[0];
  element("answer-empty").hidden = true;
  element("main").classList.remove("stale");
  const text = Array.isArray(label) ? label.map(tidy).join(", ") || "none of them" : tidy(label);
  element("verdict").hidden = false;
  element("verdict").textContent = text;
  element("verdict").classList.toggle("long", text.length > 14);
  element("bars").hidden = element("bars-hint").hidden = !scores;
  element("bars-hint").textContent = "A longer bar means a higher score.";
  if (scores) showBars(element("bars"), classes, scores[0]);
}

function tidy(label) {
  return typeof label === "number" && !Number.isInteger(label) ? label.toPrecision(5) : visible(label);
}

function showSent(code, embedding) {
  showBytes(28 + embedding.nBytes);
  const message = `The message is these ${embedding.nBits} bits and a header of 28 bytes.`;
  element("sent-hint").textContent = `Each square is one bit. ${message} What you entered stays here.`;
  state.shown = () => showBits(element("bits"), code, embedding.nBits, state.card.rates.at(-1));
  state.shown();
}

function showBytes(sent) {
  const raw = 4 * state.card.n_features;
  const numbers = raw.toLocaleString("en-US");
  const rest = sent < raw ? ` instead of ${numbers}` : `; the numbers would be ${numbers}`;
  element("bytes").replaceChildren("Sent ", strong(bytesOf(sent)), rest);
  element("share-part").setAttribute("width", `${Math.min(100, (100 * sent) / raw).toFixed(1)}%`);
}

/** What was found for the one row; null: nothing, because the service failed; an error: it refused the condition. */
function showNearest(found) {
  const some = found?.ids?.[0].length > 0;
  element("near-empty").hidden = some;
  if (found instanceof ServiceError) element("near-empty").textContent = reason(found);
  else if (found) element("near-empty").textContent = "No example meets the condition.";
  else element("near-empty").textContent = "The search for similar examples failed.";
  element("near-hint").hidden = !some;
  if (!some) {
    element("near").replaceChildren();
    return;
  }
  const { input, rates, index } = state.card;
  const byKernel = `The ${index.measure} to your row, under the kernel of the index.`;
  element("near-hint").textContent = rates.length ? "Share of bits equal to yours, in percent." : byKernel;
  showNear(element("near"), found, input, rates.length ? percent : (value) => value.toPrecision(3));
}

function showNothing() {
  const { card, bits } = state;
  element("main").dataset.state = "empty";
  element("main").classList.remove("stale");
  element("answer-empty").hidden = false;
  element("verdict").hidden = true;
  element("verdict").textContent = "";
  element("bars").hidden = element("bars-hint").hidden = !card.classes;
  if (card.classes) showBars(element("bars"), card.classes, null);
  element("bytes").textContent = "Nothing yet";
  element("share-part").setAttribute("width", "0");
  for (const id of ["bits", "share"]) element(id).toggleAttribute("hidden", !card.rates.length);
  element("sent-hint").textContent = card.rates.length ? "Each square is one bit." : "";
  state.shown = card.rates.length ? () => showBits(element("bits"), null, bits, card.rates.at(-1)) : null;
  state.shown?.();
  element("near-empty").hidden = false;
  element("near-empty").textContent = NEAR_EMPTY;
  element("near-hint").hidden = true;
  element("near").replaceChildren();
  hideTable();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  input?.refresh();
  state.shown?.();
  if (state.row) later(ask, PAUSE);
});
begin(open, ask);
