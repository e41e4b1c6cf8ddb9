/** Names, labels and cells as text that can be seen; tables as cells. */

// control characters, lone surrogates, line and paragraph separators, and what turns the direction of writing
const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** The text with everything escaped that would not show, or would make the rest show otherwise. */
export function visible(value) {
  return String(value).replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

/** A number of bytes in words. */
export function bytesOf(count) {
  return `${count.toLocaleString("en-US")} byte${count === 1 ? "" : "s"}`;
}

/** What separates the cells of a line: of commas, semicolons and tabs outside quotes the most frequent, or null. */
export function separatorOf(line) {
  const bare = line.replace(/"[^"]*"/g, "");
  const counts = [",", ";", "\t"].map((each) => [bare.split(each).length - 1, each]);
  const [count, separator] = counts.reduce((best, one) => (one[0] > best[0] ? one : best));
  return count ? separator : null;
}

/** The cells of a csv text, row by row; those in quotes may hold separators, ends of lines, and quotes as two. */
export function csvRows(text, separator = ",") {
  const rows = [];
  let cells = [];
  let cell = "";
  let quoted = false;
  const end = () => {
    cells.push(cell);
    if (cells.length > 1 || cell.trim()) rows.push(cells);
    [cells, cell] = [[], ""];
  };
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (quoted) {
      if (character !== '"') cell += character;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (character === '"' && !cell.trim()) {
      [quoted, cell] = [true, ""];
    } else if (character === separator) {
      cells.push(cell.trim());
      cell = "";
    } else if (character === "\n") {
      end();
    } else if (character !== "\r") {
      cell += character;
    }
  }
  end();
  return rows;
}
