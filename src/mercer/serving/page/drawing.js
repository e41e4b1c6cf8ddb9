/**
 * A pad to draw on, and the drawing as a row of numbers.
 *
 * A row is made from a bitmap, in which the drawing is fitted into a box in the middle; every number counts the dots
 * that are on in a square of 4 x 4. The digits of scikit-learn look so: they are stretched to about 20 of 32 dots in width
 * and to all 32 in height, and their lines are thinned or thickened until about three dots in ten are on.
 */

const CELL = 4; // dots of a side of the square that one number counts
const DIGITS = { box: [20 / 32, 1], stretch: 1.7, ink: 0.3 }; // numbers up to 16 are counts of dots
const PLAIN = { box: [0.74, 0.74], stretch: 1, pen: 0.1 }; // others are grey values
const PENS = [0.06, 0.32]; // thinnest and thickest pen for some ink, in heights of the bitmap
const LARGEST_SCALE = 4; // a dot is not blown up to a disc
const PEN = 0.1; // on the pad, in its height
const STEP = 1 / 32; // of the keyboard

export class DrawingPad {
  /** A canvas to draw on, one for what the model sees, sizes, and a function that hears of every new row (or null). */
  constructor(canvas, preview, { height, width, maximum = 1 }, changed) {
    Object.assign(this, { canvas, preview, height, width, maximum, changed });
    this.style = maximum === CELL ** 2 ? DIGITS : PLAIN;
    this.strokes = []; // lists of [x, y], 0 to 1
    this.row = this.pending = null;
    this.cursor = null; // of the keyboard: { x, y, down }
    canvas.height = Math.round((canvas.width * height) / width);
    this.bitmap = document.createElement("canvas");
    this.bitmap.width = CELL * width;
    this.bitmap.height = CELL * height;
    this.listen();
    this.paint();
  }

  get empty() {
    return !this.strokes.length;
  }

  clear() {
    this.strokes = [];
    if (this.cursor) this.cursor.down = false;
    this.update();
  }

  undo() {
    this.strokes.pop();
    if (this.cursor) this.cursor.down = false;
    this.update();
  }

  /** The drawing as numbers, row by row from the top, or null. */
  computed() {
    if (this.empty) return null;
    const { width, height, maximum } = this;
    const dots = this.dots();
    const row = new Array(width * height).fill(0);
    for (let y = 0; y < CELL * height; y++) {
      for (let x = 0; x < CELL * width; x++) {
        row[Math.floor(y / CELL) * width + Math.floor(x / CELL)] += dots[y * CELL * width + x];
      }
    }
    return row.map((count) => (count * maximum) / CELL ** 2);
  }

  /** 1 where the bitmap is on. */
  dots() {
    if (this.style.pen) return this.dotsOf(this.style.pen);
    let [thin, thick] = PENS;
    for (let round = 0; round < 7; round++) {
      const pen = (thin + thick) / 2;
      const dots = this.dotsOf(pen);
      if (dots.reduce((sum, dot) => sum + dot, 0) < this.style.ink * dots.length) thin = pen;
      else thick = pen;
    }
    return this.dotsOf(thin);
  }

  dotsOf(pen) {
    const { width, height } = this.bitmap;
    const context = this.bitmap.getContext("2d", { willReadFrequently: true });
    context.clearRect(0, 0, width, height);
    context.strokeStyle = "#000";
    context.lineWidth = pen * height;
    trace(context, this.strokes, this.fit(pen * height));
    const { data } = context.getImageData(0, 0, width, height);
    return Uint8Array.from({ length: width * height }, (_, i) => (data[4 * i + 3] >= 128 ? 1 : 0));
  }

  /** The function that takes places of the pad to places of the bitmap. */
  fit(pen) {
    const { width, height } = this.bitmap;
    const aspect = this.width / this.height; // x and y in the same units: heights of the pad
    const xs = this.strokes.flat().map(([x]) => x * aspect);
    const ys = this.strokes.flat().map(([, y]) => y);
    const [west, east, north, south] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const { box, stretch } = this.style;
    const wide = (box[0] * width - pen) / Math.max(east - west, 1e-6);
    const tall = Math.min((box[1] * height - pen) / Math.max(south - north, 1e-6), LARGEST_SCALE * height);
    const across = Math.min(wide, stretch * tall);
    const down = Math.min(tall, stretch * across);
    return (x, y) => [
      width / 2 + (x * aspect - (west + east) / 2) * across,
      height / 2 + (y - (north + south) / 2) * down,
    ];
  }

  /** After a change: at most once per picture that the screen shows. */
  update() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.row = this.computed();
      this.paint();
      this.changed(this.row);
    });
  }

  paint() {
    const { canvas } = this;
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.strokeStyle = getComputedStyle(canvas).color;
    context.lineWidth = PEN * canvas.height;
    trace(context, this.strokes, (x, y) => [x * canvas.width, y * canvas.height]);
    if (this.empty) this.invite(context);
    if (this.cursor && document.activeElement === canvas) this.paintCursor(context);
    paintRow(this.preview, this.row ?? new Array(this.width * this.height).fill(0), this);
  }

  invite(context) {
    const { width, height } = this.canvas;
    const styles = getComputedStyle(this.canvas);
    context.font = `${Math.round(height / 18)}px ${styles.fontFamily}`;
    context.textAlign = "center";
    context.fillStyle = styles.caretColor;
    context.fillText("Draw here", width / 2, height / 2);
  }

  paintCursor(context) {
    const { x, y, down } = this.cursor;
    context.beginPath();
    context.arc(x * this.canvas.width, y * this.canvas.height, 0.06 * this.canvas.height, 0, 2 * Math.PI);
    context.lineWidth = down ? 8 : 3;
    context.strokeStyle = getComputedStyle(this.canvas).outlineColor;
    context.stroke();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.setPointerCapture(event.pointerId);
      this.cursor = null;
      this.strokes.push([this.place(event)]);
      this.update();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      const events = event.getCoalescedEvents?.() ?? [];
      for (const each of events.length ? events : [event]) this.strokes.at(-1)?.push(this.place(each));
      this.update();
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.paint());
    canvas.addEventListener("blur", () => this.paint());
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const inside = (value) => Math.min(Math.max(value, 0), 1);
    return [inside((event.clientX - box.left) / box.width), inside((event.clientY - box.top) / box.height)];
  }

  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const { key } = event;
    if (event.altKey || event.metaKey || (event.ctrlKey && key !== "z")) return;
    if (!moves[key] && ![" ", "Delete", "Backspace", "z"].includes(key)) return;
    if (key === "z" && !event.ctrlKey) return;
    event.preventDefault();
    const cursor = (this.cursor ??= { x: 0.5, y: 0.25, down: false });
    if (key === "Delete" || key === "Backspace") {
      this.clear();
    } else if (key === "z") {
      this.undo();
    } else if (key === " ") {
      cursor.down = !cursor.down;
      if (cursor.down) this.strokes.push([[cursor.x, cursor.y]]);
      this.update();
    } else {
      const step = STEP * (event.shiftKey ? 4 : 1);
      cursor.x = Math.min(Math.max(cursor.x + step * moves[key][0], 0), 1);
      cursor.y = Math.min(Math.max(cursor.y + step * moves[key][1], 0), 1);
      if (cursor.down) this.strokes.at(-1).push([cursor.x, cursor.y]);
      cursor.down ? this.update() : this.paint();
    }
  }
}

/** A row on a canvas, one dot per pixel: ink of a drawing, in the color of the text, or grey or colors of an image. */
export function paintRow(canvas, row, { type, height, width, maximum = type === "image" ? 255 : 1 }) {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const channels = row.length / (width * height);
  const share = (i) => Math.min(Math.max(row[i] / maximum, 0), 1);
  context.fillStyle = getComputedStyle(canvas).color;
  for (let i = 0; i < width * height; i++) {
    if (type === "image") {
      const [r, g, b] = [0, 1, 2].map((c) => Math.round(255 * share(channels * i + Math.min(c, channels - 1))));
      context.fillStyle = `rgb(${r}, ${g}, ${b})`;
    } else {
      context.globalAlpha = share(i);
    }
    context.fillRect(i % width, Math.floor(i / width), 1, 1);
  }
}

function trace(context, strokes, place) {
  context.lineCap = context.lineJoin = "round";
  for (const stroke of strokes) {
    context.beginPath();
    stroke.forEach(([x, y], i) => (i ? context.lineTo(...place(x, y)) : context.moveTo(...place(x, y))));
    if (stroke.length === 1) context.lineTo(...place(...stroke[0])); // a dot
    context.stroke();
  }
}
