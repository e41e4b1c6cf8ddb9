/** Whole tables: a csv file goes to the service, and comes back with its labels to be shown and saved. */

import { showCounts } from "./figures.js";
import { clientFor, element, make, offerFile } from "./shell.js";
import { bytesOf, csvRows, separatorOf, visible } from "./text.js";

const SHOWN = 20; // rows on the page
const NEAR = 8; // rows that are found for each

/**
 * Asks about a table { text, name }, of an index under a condition, and shows what comes back; returns what the history
 * says of it.
 */
export async function askTable(table, card, where) {
  const client = clientFor({ timeout: 300 });
  const searches = card.task === "search";
  const body = new Blob([table.text]);
  const limit = card.limits.max_table_bytes;
  if (body.size > limit) throw new Error(`The table has ${bytesOf(body.size)}; the maximum is ${bytesOf(limit)}.`);
  const answer = await (searches ? client.neighborsTable(body, { k: NEAR, where }) : client.labelTable(body));
  const rows = csvRows(answer, separatorOf(answer.split("\n", 1)[0]) ?? ",");
  const hasHeading = searches || rows[0].at(-1).startsWith("predicted");
  const heading = hasHeading ? rows.shift() : rows[0].map((_, i) => (i + 1 < rows[0].length ? `column ${i + 1}` : "predicted"));
  const count = searches ? Number(rows.at(-1)?.[0] ?? 0) : rows.length;
  element("table-card").hidden = false;
  showRows(heading, searches ? rows.map((cells) => cells.map(shortened)) : rows);
  const file = `${table.name.replace(/\.[^.]*$/, "")}-${searches ? "neighbors" : "labeled"}.csv`;
  offerFile(element("table-file"), file, answer, "text/csv");
  element("table-file").textContent = `Save ${visible(file)}`;
  element("table-count").textContent =
    rows.length > SHOWN ? `The first ${SHOWN} of ${rows.length.toLocaleString("en-US")} lines. The file has all of them.` : "";
  if (!searches && card.classes) showCounts(element("bars"), card.classes, rows.map((cells) => cells.at(-1)));
  return { label: `${count} row${count === 1 ? "" : "s"}`, detail: table.name };
}

/** A similarity with the digits that tell hits apart; the file has all of them. */
function shortened(cell) {
  return /^-?\d+\.\d{6,}$/.test(cell) ? Number(cell).toPrecision(5) : cell;
}

function showRows(heading, rows) {
  const table = element("table");
  const line = (cells, name) => {
    const row = make("tr");
    row.append(...cells.map((cell) => make(name, name === "th" ? { scope: "col" } : {}, visible(cell))));
    return row;
  };
  table.tHead.replaceChildren(line(heading, "th"));
  table.tBodies[0].replaceChildren(...rows.slice(0, SHOWN).map((cells) => line(cells, "td")));
}

export function hideTable() {
  element("table-card").hidden = true;
}
