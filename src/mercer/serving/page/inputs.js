/**
 * The ways to enter a row, by what the model looks at. Each tells `changed(row, problem, table)`, with null for nothing
 * yet; `table` is { text, name } if there are several rows.
 */

import { DrawingPad } from "./drawing.js";
import { placesOf } from "./mercer-client.js";
import { acceptDrops, element, thumbOf } from "./shell.js";
import { csvRows, separatorOf, visible } from "./text.js";

const BINARY = /[\u0000-\u0008\u000e-\u001f]/; // what no text has
const LONGEST_TEXT = 200_000; // characters that are shown for editing; a longer table is sent as it is

/**
 * Shows the input for a model; returns { title, lead, empty, refresh, past }: refresh is for a new color scheme, and
 * past() tells the history of what is entered: { key, detail, thumb, restore }.
 */
export function openInput(card, changed) {
  const input = card.input ?? { type: "vector" };
  const pixels = (input.height ?? 0) * (input.width ?? 0);
  if (input.type === "drawing" && pixels === card.n_features) return openDrawing(card, input, changed);
  if (input.type === "image" && [pixels, 3 * pixels].includes(card.n_features)) return openImage(card, input, changed);
  return openVector(card, changed);
}

function openDrawing(card, input, changed) {
  element("drawing").hidden = false;
  let drawings = 0;
  const pad = new DrawingPad(element("pad"), element("preview"), input, (row) => {
    if (row === null) drawings++;
    element("undo").disabled = element("clear").disabled = row === null;
    changed(row);
  });
  element("undo").addEventListener("click", () => pad.undo());
  element("clear").addEventListener("click", () => {
    pad.clear();
    element("pad").focus();
  });
  const digits = card.classes?.length === 10 && card.classes.every((name, i) => String(name) === String(i));
  element("input-title").textContent = "Your drawing";
  return {
    title: digits ? "Draw a digit" : "Draw something",
    lead: "Your browser turns the drawing into a few bits. Only these are sent, and the answer comes from them alone.",
    empty: digits ? "Draw a digit from 0 to 9, and the answer appears here." : "Draw, and the answer appears here.",
    refresh: () => pad.paint(),
    past: () => {
      const [key, strokes] = [`drawing ${drawings}`, structuredClone(pad.strokes)];
      const restore = () => {
        drawings++;
        pad.strokes = structuredClone(strokes);
        pad.update();
      };
      return { key, detail: "", thumb: thumbOf(element("preview"), input.width, input.height), restore };
    },
  };
}

function openImage(card, input, changed) {
  element("image").hidden = false;
  element("input-title").textContent = "Your image";
  let shown = null;
  const read = async (file) => {
    if (!file) return;
    shown = file;
    const canvas = element("image-preview");
    try {
      const image = await createImageBitmap(file);
      canvas.width = input.width;
      canvas.height = input.height;
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, input.width, input.height);
      element("image-seen").hidden = false;
      const { data } = context.getImageData(0, 0, input.width, input.height);
      changed(pixelRow(data, card.n_features, input.maximum ?? 255));
    } catch {
      element("image-seen").hidden = true;
      changed(null, `${file.name} is not an image that this browser can read.`);
    }
  };
  element("image-file").addEventListener("change", (event) => read(event.target.files[0]));
  acceptDrops(element("image-drop"), read);
  acceptDrops(document.body, read); // which would leave the page otherwise
  return {
    title: "Show it an image",
    lead: "Your browser turns the image into a few bits. Only these are sent, and the answer comes from them alone.",
    empty: "Choose an image, and the answer appears here.",
    refresh: () => {},
    past: () => {
      const file = shown;
      const thumb = thumbOf(element("image-preview"), input.width, input.height);
      return { key: `${file.name} ${file.lastModified}`, detail: file.name, thumb, restore: () => read(file) };
    },
  };
}

/** Grey values (as Pillow's "L") or red, green, blue of pixels, 0 to maximum. */
function pixelRow(data, n, maximum) {
  const row = [];
  const grey = n === data.length / 4;
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
    row.push(...(grey ? [(19595 * r + 38470 * g + 7471 * b + 32768) >> 16] : [r, g, b]));
  }
  return row.map((value) => (value * maximum) / 255);
}

function openVector(card, changed) {
  element("vector").hidden = false;
  element("input-title").textContent = "Your numbers";
  const wanted = card.n_features;
  const box = element("numbers");
  const names = card.columns ? ` They are: ${shortened(card.columns)}.` : "";
  const between = "with commas, semicolons, tabs or spaces between them";
  element("numbers-help").textContent = `Paste ${wanted} numbers ${between}, or drop a csv file with one row per answer.${names}`;
  let name = "table.csv";
  let kept = null; // the text of a table that is too long for the box
  const read = () => {
    const text = kept ?? box.value;
    const { row, count, rows, problem, ignored } = readRow(text, wanted, card.columns, card.other_columns);
    const told = rows > 1 ? `${rows} rows of ${wanted} numbers` : `${count} of ${wanted} numbers`;
    const left = ignored?.length ? `; ignored: ${shortened(ignored)}` : "";
    element("numbers-count").textContent = text.trim() ? told + left : "";
    changed(rows > 1 ? null : row, problem && visible(problem), rows > 1 ? { text: separated(text), name } : null);
  };
  const enter = (text, from) => {
    name = from;
    kept = text.length > LONGEST_TEXT ? text : null;
    box.value = kept ? `${text.slice(0, 2000)}\n…` : text;
    read();
  };
  const open = async (file) => {
    if (!file) return;
    const text = (await file.text()).replace(/^\ufeff/, "").trim();
    if (BINARY.test(text)) changed(null, `${visible(file.name)} is not a text file. Choose a csv file.`);
    else enter(text, file.name);
  };
  box.addEventListener("input", () => {
    kept = null;
    read();
  });
  element("numbers-file").addEventListener("change", (event) => {
    open(event.target.files[0]);
    event.target.value = ""; // so that the same file may be chosen again
  });
  acceptDrops(box, open);
  acceptDrops(document.body, open); // which would leave the page otherwise
  return {
    title: "Enter numbers, or drop a table",
    lead: "Your browser turns the numbers into a few bits. Only these are sent, and the answer comes from them alone. A "
      + "table of several rows is sent unchanged.",
    empty: `Enter ${wanted} numbers or drop a csv file, and the answer appears here.`,
    refresh: () => {},
    past: () => {
      const [text, from] = [kept ?? box.value, name];
      const first = text.split("\n").at(-1).slice(0, 40);
      return { key: text, detail: first, thumb: null, restore: () => enter(text, from) };
    },
  };
}

/** A table whose cells have spaces between them as csv; any other as it is. */
function separated(text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  return separatorOf(lines[0]) ? text : lines.map((line) => cellsOf(line).join(",")).join("\n");
}

function shortened(names) {
  const some = names.slice(0, 12).map(visible).join(", ");
  return names.length > 12 ? `${some} and ${names.length - 12} more` : some;
}

/**
 * The first row of numbers in a text: { row or null, count of its numbers, rows, problem or null, ignored }. By the names
 * of the model a heading tells which columns are meant, in which order, so that a table with the others of the training
 * table, such as labels, may be dropped as it is: these are `ignored`. A heading that lacks a name, or has a further one,
 * is refused. For a model without names a heading is passed over.
 */
export function readRow(text, wanted, names = null, others = []) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (!lines.length) return { row: null, count: 0, problem: null };
  const { table, problem: unfit, ignored } = chosenColumns(lines, names, others) ?? { table: lines.map(cellsOf), ignored: [] };
  if (unfit) return { row: null, count: 0, problem: unfit };
  const numeric = table.filter((cells) => cells.every(isNumber)).map((cells) => cells.map(Number));
  // one line with all numbers, or all lines together
  const whole = numeric.filter((numbers) => numbers.length === wanted);
  const row = whole[0] ?? numeric.flat();
  if (row.length === wanted) return { row, count: wanted, rows: whole.length, problem: null, ignored };
  if (row.length > wanted) {
    return { row: null, count: row.length, problem: `These are ${row.length} numbers; the model takes ${wanted}.` };
  }
  if (numeric.length) return { row: null, count: row.length, problem: null }; // more may follow
  const line = table.find((cells) => cells.some(isNumber)) ?? table[0];
  const wrong = line.find((cell) => !isNumber(cell));
  const problem = wrong ? `\u201c${wrong.slice(0, 40)}\u201d is not a number.` : "A number is missing.";
  return { row: null, count: line.filter(isNumber).length, problem };
}

const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
const cellsOf = (line) => line.trim().replace(/[,;]$/, "").split(/\s*[,;\t]\s*|\s+/);

/** { table: cells of the lines below a heading, in the order of the names; ignored } or { problem }; null: no heading. */
function chosenColumns(lines, names, others) {
  if (!names || lines.length < 2) return null;
  const separator = separatorOf(lines[0]);
  const split = (line) => (separator ? (csvRows(line, separator)[0] ?? []) : names.length > 1 ? cellsOf(line) : [line.trim()]);
  const heading = split(lines[0]);
  const isHeading = heading.some((cell) => cell && !isNumber(cell)) || names.every((name) => heading.includes(name));
  if (!isHeading) return null;
  try {
    const places = placesOf(heading, names, names.length, others);
    const table = lines.slice(1).map(split).map((cells) => places.map((place) => cells[place] ?? ""));
    return { table, ignored: heading.filter((name) => !names.includes(name)) };
  } catch (error) {
    return { problem: `The first line does not name the columns of this model. ${error.message}` };
  }
}
