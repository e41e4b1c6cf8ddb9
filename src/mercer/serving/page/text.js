/** Names and labels as text that can be seen. */

// control characters, lone surrogates, line and paragraph separators, and what turns the direction of writing
const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** The text with everything escaped that would not show, or would make the rest show otherwise. */
export function visible(value) {
  return String(value).replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}
