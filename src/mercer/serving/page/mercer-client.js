/**
 * The client of a Mercer service: rows become bits here, and only the bits travel.
 *
 * One file without dependencies, for browsers and for Node 18 or newer:
 *
 *     import { Client } from "./mercer-client.js";
 *     const answer = await new Client("http://localhost:8321").classify([[0, 3, 9, 1]]);
 *
 * The bits are defined in whole numbers by the page "Bits on the wire" of Mercer's manual, docs/wire-format.md, whose
 * sections and letters are used here. A double holds whole numbers up to 2^53 exactly, so no sum is ever rounded.
 */

const KEYS =
  "bits blocks center dither exponent features format kind matrix offsets projections scale seed step version";
const WITH_ENTRIES = KEYS.replace("dither", "dither entries"); // of a learned matrix
const KEPT = 2 ** 27; // numbers of a matrix that are kept; a larger one is made anew, row by row, in every call
const CHUNK = 2 ** 20; // projections worked on at once
const EXACT = 2 ** 53;
const LARGEST = 32767 * 32767; // of one product a_bj z_j
const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24];
const MESSAGE_ROWS = 256;
const CSV = "text/csv";
const LONGEST_PAUSE = 30; // seconds

// T of the format, little-endian int16 in base64
const TEXT =
  "BQAPABkAIwAtADcAQQBLAFUAXwBpAHMAfQCHAJEAmwClAK8AugDEAM4A2ADiAOwA9gAAAQoBFAEeASgBMgE8AUYBUAFaAWQBbgF4AYIBjAGWAaAB" +
  "qgG0Ab4ByAHTAd0B5wHxAfsBBQIPAhkCIwItAjcCQQJLAlUCXwJpAnMCfQKHApECnAKmArACugLEAs4C2ALiAuwC9gIAAwoDFAMeAygDMwM9A0cD" +
  "UQNbA2UDbwN5A4MDjQOXA6EDrAO2A8ADygPUA94D6APyA/wDBgQRBBsEJQQvBDkEQwRNBFcEYQRsBHYEgASKBJQEngSoBLMEvQTHBNEE2wTlBO8E" +
  "+gQEBQ4FGAUiBSwFNgVBBUsFVQVfBWkFcwV+BYgFkgWcBaYFsQW7BcUFzwXZBeMF7gX4BQIGDAYWBiEGKwY1Bj8GSgZUBl4GaAZyBn0GhwaRBpsG" +
  "pgawBroGxAbPBtkG4wbtBvgGAgcMBxcHIQcrBzUHQAdKB1QHXwdpB3MHfQeIB5IHnAenB7EHuwfGB9AH2gflB+8H+QcECA4IGAgjCC0INwhCCEwI" +
  "VwhhCGsIdgiACIoIlQifCKoItAi+CMkI0wjeCOgI8wj9CAcJEgkcCScJMQk8CUYJUQlbCWUJcAl6CYUJjwmaCaQJrwm5CcQJzgnZCeMJ7gn4CQMK" +
  "DQoYCiMKLQo4CkIKTQpXCmIKbAp3CoIKjAqXCqEKrAq3CsEKzArWCuEK7Ar2CgELDAsWCyELLAs2C0ELTAtWC2ELbAt2C4ELjAuWC6ELrAu2C8EL" +
  "zAvXC+EL7Av3CwIMDAwXDCIMLQw4DEIMTQxYDGMMbgx4DIMMjgyZDKQMrgy5DMQMzwzaDOUM8Az7DAUNEA0bDSYNMQ08DUcNUg1dDWgNcw1+DYkN" +
  "lA2fDakNtA2/DcoN1Q3gDewN9w0CDg0OGA4jDi4OOQ5EDk8OWg5lDnAOew6GDpIOnQ6oDrMOvg7JDtQO4A7rDvYOAQ8MDxgPIw8uDzkPRA9QD1sP" +
  "Zg9xD30PiA+TD58Pqg+1D8APzA/XD+IP7g/5DwUQEBAbECcQMhA9EEkQVBBgEGsQdxCCEI0QmRCkELAQuxDHENIQ3hDpEPUQAREMERgRIxEvEToR" +
  "RhFSEV0RaRF0EYARjBGXEaMRrxG6EcYR0hHeEekR9REBEgwSGBIkEjASPBJHElMSXxJrEncSghKOEpoSphKyEr4SyhLWEuIS7hL6EgUTERMdEykT" +
  "NRNBE00TWRNmE3ITfhOKE5YTohOuE7oTxhPSE98T6xP3EwMUDxQbFCgUNBRAFEwUWRRlFHEUfhSKFJYUoxSvFLsUyBTUFOAU7RT5FAYVEhUfFSsV" +
  "OBVEFVEVXRVqFXYVgxWPFZwVqRW1FcIVzhXbFegV9BUBFg4WGxYnFjQWQRZOFloWZxZ0FoEWjhaaFqcWtBbBFs4W2xboFvUWAhcPFxwXKRc2F0MX" +
  "UBddF2oXdxeEF5IXnxesF7kXxhfUF+EX7hf7FwkYFhgjGDEYPhhLGFkYZhhzGIEYjhicGKkYtxjEGNIY3xjtGPsYCBkWGSMZMRk/GU0ZWhloGXYZ" +
  "gxmRGZ8ZrRm7GckZ1hnkGfIZABoOGhwaKho4GkYaVBpiGnAafxqNGpsaqRq3GsUa1BriGvAa/xoNGxsbKhs4G0YbVRtjG3IbgBuPG50brBu6G8kb" +
  "2BvmG/UbBBwSHCEcMBw/HE0cXBxrHHociRyYHKccthzFHNQc4xzyHAEdEB0fHS8dPh1NHVwdbB17HYodmh2pHbgdyB3XHecd9h0GHhYeJR41HkQe" +
  "VB5kHnQegx6THqMesx7DHtMe4x7zHgMfEx8jHzMfQx9TH2QfdB+EH5QfpR+1H8Uf1h/mH/cfByAYICggOSBKIFogayB8II0gniCuIL8g0CDhIPIg" +
  "AyEUISYhNyFIIVkhaiF8IY0hnyGwIcEh0yHlIfYhCCIZIisiPSJPImAiciKEIpYiqCK6Iswi3yLxIgMjFSMnIzojTCNfI3EjhCOWI6kjvCPOI+Ej" +
  "9CMHJBokLSRAJFMkZiR5JIwkoCSzJMYk2iTtJAElFCUoJTwlTyVjJXcliyWfJbMlxyXbJfAlBCYYJi0mQSZWJmomfyaTJqgmvSbSJucm/CYRJyYn" +
  "OydRJ2YneyeRJ6cnvCfSJ+gn/icTKCkoQChWKGwogiiZKK8oxijcKPMoCikhKTcpTilmKX0plCmrKcMp2inyKQoqIio5KlEqaiqCKpoqsirLKuMq" +
  "/CoVKy4rRytgK3krkiusK8Ur3yv4KxIsLCxGLGAseyyVLLAsyizlLAAtGy02LVEtbS2ILaQtwC3cLfgtFC4wLk0uaS6GLqMuwC7dLvsuGC82L1Qv" +
  "ci+QL64vzS/sLwowKTBJMGgwiDCnMMcw5zAIMSgxSTFqMYsxrDHOMfAxEjI0MlYyeTKcMr8y4jIGMyozTjNyM5czvDPhMwc0LDRSNHk0nzTGNO00" +
  "FTU9NWU1jTW2Nd81CTYzNl02iDazNt42Cjc2N2M3kDe9N+s3GjhJOHg4qDjYOAk5OjlsOZ450TkFOjk6bjqjOtk6EDtIO4A7uTvyOyw8aDykPOA8" +
  "Hj1dPZw93T0ePmE+pD7pPi8/dj++PwdAUkCfQOxAPEGNQd9BM0KKQuJCPEOYQ/ZDV0S7RCFFiUX1RWRG10ZNR8dHRUjISE9J3ElvSglLqUtRTAJN" +
  "vE2CTlNPM1AkUShSQ1N6VNNVWVcaWStbtl0KYfpl8nE=";
const BYTES = bytesOf(TEXT);
export const TABLE = Int16Array.from({ length: 1024 }, (_, i) => BYTES.getInt16(2 * i, true));

/** A service refused a request (`status`, `code` and `requestId` say more) or was not reached (status null). */
export class ServiceError extends Error {
  constructor(message, { status = null, code = null, requestId = null } = {}) {
    super(message);
    this.name = new.target.name;
    Object.assign(this, { status, code, requestId });
  }
}

/** A service uses another embedding, or other columns, than what was pinned or fetched first. */
export class FingerprintError extends ServiceError {}

/** Bits of rows, by the specification of section 6: an object as parsed from JSON. */
export class Embedding {
  constructor(specification) {
    const s = (this.specification = checked(specification));
    this.fingerprint = sha256(JSON.stringify(s, keysOf(s).split(" ")));
    this.nFeatures = s.blocks * s.features;
    this.nBits = s.blocks * s.projections * s.bits;
    this.nBytes = Math.ceil(this.nBits / 8);
    this.key = [parseInt(s.seed.slice(8), 16), parseInt(s.seed.slice(0, 8), 16)];
    this.factor = s.scale === null ? null : doubles(s, "scale", s.features);
    this.center = s.center === null ? null : doubles(s, "center", s.features);
    this.padded = 256; // order of the Hadamard matrix
    while (this.padded < s.features) this.padded *= 2;
    this.shift = this.shifts();
    this.exact = this.reach() + 2 ** (s.bits + 1) * s.step < EXACT; // whether doubles can hold all that levels compute
    this.kept = null;
    this.columns = this.model = null; // names of the columns and checksum of the model, if a service has told them
    this.otherColumns = []; // names of columns that may come with them
  }

  /** Codes of rows (arrays of nFeatures numbers): a Uint8Array of nBytes per row, lowest bit first. */
  encode(rows) {
    const { blocks, projections: M, matrix } = this.specification;
    const codes = new Uint8Array(rows.length * this.nBytes);
    const step = Math.max(1, Math.floor(CHUNK / (blocks * M)));
    for (let first = 0; first < rows.length; first += step) {
      const count = Math.min(step, rows.length - first);
      const z = this.whole(rows, first, count);
      const p = matrix === "structured" ? this.structured(z, count * blocks) : this.dense(z, count * blocks);
      for (let r = 0; r < count; r++) {
        const values = this.quantised(p.subarray(r * blocks * M, (r + 1) * blocks * M));
        this.pack(values, codes.subarray((first + r) * this.nBytes, (first + r + 1) * this.nBytes));
      }
    }
    return codes;
  }

  /** Section 2: z of some rows, one after the other. */
  whole(rows, first, count) {
    const { features: d, exponent } = this.specification;
    const factor = exponent === null ? 0 : powerOfTwo(exponent);
    const z = new Float64Array(count * this.nFeatures);
    for (let r = 0; r < count; r++) {
      const row = rows[first + r];
      if (row?.length !== this.nFeatures) {
        throw new RangeError(`encode needs rows of ${this.nFeatures} numbers, got ${row?.length} in row ${first + r}.`);
      }
      for (let i = 0; i < row.length; i++) {
        const j = i % d;
        const x = Number.isFinite(row[i]) ? row[i] : NaN;
        const scaled = (x - (this.center ? this.center[j] : 0)) * (this.factor ? this.factor[j] : factor);
        if (Number.isNaN(scaled)) {
          throw new RangeError(`encode needs finite numbers, got ${row[i]} in row ${first + r}.`);
        }
        z[r * this.nFeatures + i] = Math.min(Math.max(Math.floor(scaled + 0.5), -32767), 32767);
      }
    }
    return z;
  }

  /** Section 3: p_b = sum_j a_bj z_j for n blocks. */
  dense(z, n) {
    const { features: d, projections: M } = this.specification;
    if (this.kept === null && M * d <= KEPT) this.kept = this.entries(0, M * d);
    const p = new Float64Array(n * M);
    for (let b = 0; b < M; b++) {
      const a = this.kept ? this.kept.subarray(b * d, (b + 1) * d) : this.entries(b * d, d);
      for (let l = 0; l < n; l++) {
        let sum = 0;
        for (let j = 0, i = l * d; j < d; j++, i++) sum += a[j] * z[i];
        p[l * M + b] = sum;
      }
    }
    return p;
  }

  entries(first, count) {
    const { matrix, features, projections } = this.specification;
    if (matrix === "learned") return shorts(this.specification, projections * features); // never too large to be kept
    const u = halfWords(this.key, 0, first, count);
    const a = new Int16Array(count);
    for (let i = 0; i < count; i++) a[i] = u[i] < 32768 ? TABLE[u[i] % 1024] : -TABLE[u[i] % 1024];
    return a;
  }

  /** Section 3: H S_2 H S_1 H S_0 z of every group of projections, for n blocks. */
  structured(z, n) {
    const { features: d, projections: M } = this.specification;
    const order = this.padded;
    const p = new Float64Array(n * M);
    const v = new Float64Array(order);
    for (let group = 0; group * order < M; group++) {
      const signs = this.signs(3 * group * order, 3 * order);
      for (let l = 0; l < n; l++) {
        v.fill(0).set(z.subarray(l * d, (l + 1) * d));
        for (let round = 0; round < 3; round++) {
          for (let i = 0; i < order; i++) v[i] *= signs[round * order + i];
          hadamard(v);
        }
        p.set(v.subarray(0, Math.min(order, M - group * order)), l * M + group * order);
      }
    }
    return p;
  }

  signs(first, count) {
    const start = Math.floor(first / 16);
    const h = halfWords(this.key, 2, start, Math.ceil((first + count) / 16) - start);
    return Int8Array.from({ length: count }, (_, i) => {
      const e = first - 16 * start + i;
      return (h[e >> 4] >> (e & 15)) & 1 ? -1 : 1;
    });
  }

  /** Section 4: what the quantiser adds to p: w if universal, else v - o. */
  shifts() {
    const { kind, dither, offsets, projections: M, step: D } = this.specification;
    const shift = new Float64Array(M);
    if (dither) {
      // floor(h D / 65536) in two parts, because h D may need 66 bits
      const high = Math.floor(D / 65536);
      const low = D % 65536;
      const v = kind === "universal" ? 0 : Math.floor(D / 2);
      halfWords(this.key, 1, 0, M).forEach((h, b) => (shift[b] = h * high + Math.floor((h * low) / 65536) - v));
    }
    if (offsets !== null) doubles(this.specification, "offsets", M).forEach((o, b) => (shift[b] -= o));
    return shift;
  }

  /** The largest magnitude that a projection with its shift can have. */
  reach() {
    const { matrix, features } = this.specification;
    const product = matrix === "structured" ? this.padded ** 2 * 32767 : features * LARGEST;
    return product + this.shift.reduce((most, s) => Math.max(most, Math.abs(s)), 0);
  }

  /** Section 4: values of the projections of the blocks of one row. */
  quantised(p) {
    const { kind, projections: M, step: D } = this.specification;
    const values = new Uint8Array(p.length);
    if (kind === "universal") {
      for (let i = 0; i < p.length; i++) values[i] = remainder(p[i] + this.shift[i % M], 2 * D) >= D ? 1 : 0;
    } else if (this.exact) {
      this.levels(p, values, (x) => x, (t) => (t - remainder(t, D)) / D);
    } else {
      // numbers that no double can tell apart: the same steps, slowly
      const d = BigInt(D);
      this.levels(p, values, BigInt, (t) => (t - (((t % d) + d) % d)) / d);
    }
    return values;
  }

  /** The quantisers with levels, in the numbers that `number` makes and with floor(t / D) in these. */
  levels(p, values, number, floored) {
    const { kind, projections: M, bits: B, step } = this.specification;
    const [D, half, most, zero] = [step, 2 ** (B - 1), 2 ** B - 1, 0].map(number);
    const middle = number(Math.floor(step / 2));
    const limit = (most + number(1)) * D;
    let missing = zero;
    for (let i = 0; i < p.length; i++) {
      if (i % M === 0) missing = zero;
      const t = number(p[i]) + number(this.shift[i % M]) + missing;
      const q = clamped(floored(t) + half, zero, most);
      if (kind === "sigma-delta") missing = clamped(t - (q - half) * D - middle, -limit, limit);
      values[i] = Number(q);
    }
  }

  /** Section 5: the bits of the values of a row. */
  pack(values, code) {
    const B = this.specification.bits;
    for (let i = 0; i < values.length; i++) {
      for (let k = 0; k < B; k++) {
        const bit = i * B + k;
        if ((values[i] >> k) & 1) code[Math.floor(bit / 8)] |= 1 << (bit % 8);
      }
    }
  }
}

/** Section 7: the message of packed rows, a Uint8Array. */
export function packMessage(codes, nBits, fingerprint) {
  const width = Math.ceil(nBits / 8);
  if (!codes.length || codes.length % width) {
    throw new RangeError(`packMessage needs one row or more of ${width} bytes, got ${codes.length} bytes.`);
  }
  const message = new Uint8Array(28 + codes.length);
  const view = new DataView(message.buffer);
  message.set([0x4d, 0x52, 0x43, 0x57, 1]); // MRCW, version
  for (let i = 0; i < 8; i++) message[8 + i] = parseInt(fingerprint.slice(2 * i, 2 * i + 2), 16);
  view.setUint32(16, nBits, true);
  view.setUint32(20, codes.length / width, true);
  message.set(codes, 28);
  view.setUint32(24, crc32(message.subarray(28), crc32(message.subarray(0, 24))), true);
  return message;
}

/** The embedding of a service; `options` as for a Client. */
export function fetchEmbedding(url = "", options = {}) {
  return new Client(url, options).embedding();
}

/**
 * Classifies, detects and searches with a service. Of rows it sends bits only, unless `raw` says otherwise.
 *
 * The embedding is fetched on first use and kept: a service that changes to another one is refused until `refresh` is
 * called. A request is repeated after a connection error and after 502, 503 and 504, with pauses that double or that
 * the service asks for (Retry-After), never after 4xx, but that after 413 rows are sent in shorter messages.
 *
 * url: where the service is; "" in a page that the service itself serves.
 * token: bearer token, if the service wants one.
 * timeout, retries: seconds without an answer after which an attempt has failed; how often it is repeated.
 * bits: bits of a row, one of the rates of the service; null: the longest code.
 * fingerprint: the only embedding that may be used; null: the first one that is fetched.
 * model: name of the model to ask, one of those that `models` lists; null: the first.
 * raw: whether `classify` and `neighbors` send the numbers themselves. Needed by models that make no bits.
 */
export class Client {
  constructor(url = "", options = {}) {
    const { token = null, timeout = 10, retries = 3, bits = null, fingerprint = null, model = null, raw = false } = options;
    Object.assign(this, { url: url.replace(/\/+$/, ""), token, timeout, retries, bits, raw, pinned: fingerprint });
    this.base = model === null ? "/v1" : `/v1/models/${encodeURIComponent(model)}`;
    this.fetched = null;
  }

  /** The Embedding of the service. */
  async embedding() {
    return this.fetched ?? this.refresh();
  }

  /** Fetch the embedding again and use it from now on. It must still match a given fingerprint. */
  async refresh() {
    this.fetched = await this.offered(this.pinned);
    return this.fetched;
  }

  /** { models: [{ name, task, ... }], default }: the models of the service, the first one first. */
  models() {
    return this.request("GET", "/v1/models");
  }

  /** The card of the model. */
  model() {
    return this.request("GET", `${this.base}/model`);
  }

  /** { labels, classes, scores, bits, model } of rows; `columns` as for `encode`. */
  classify(rows, columns = null) {
    return this.sendRows(`${this.base}/classify`, rows, columns);
  }

  /** { ids, similarity, labels } of the k nearest rows of the index of the service. */
  neighbors(rows, k = 10, columns = null) {
    return this.sendRows(`${this.base}/neighbors?k=${k}`, rows, columns);
  }

  /** As it was called until 0.1. */
  neighbours(rows, k = 10, columns = null) {
    return this.neighbors(rows, k, columns);
  }

  /** The text of a csv file (text or Blob) with a column `predicted` at its end. The table itself is sent. */
  labelTable(table, { scores = false } = {}) {
    return this.request("POST", `${this.base}/classify?scores=${Number(scores)}`, table, CSV);
  }

  /** The nearest rows of each row of a csv file (text or Blob), as the text of a csv with a line for each. */
  neighborsTable(table, { k = 10, where = "" } = {}) {
    const asked = new URLSearchParams({ k, ...(where && { where }) });
    return this.request("POST", `${this.base}/neighbors?${asked}`, table, CSV);
  }

  /** { labels, classes, scores, explanation } of a picture, a Blob of type image/png or image/jpeg. */
  classifyPicture(picture, { explain = false, label = null } = {}) {
    const asked = new URLSearchParams(explain ? { explain: 1, ...(label !== null && { label }) } : {});
    return this.request("POST", `${this.base}/classify?${asked}`, picture, picture.type);
  }

  /** { boxes, scores, parts, threshold, width, height } of the objects in a picture, a Blob as above. */
  detect(picture, { threshold = null } = {}) {
    const asked = threshold === null ? "" : `?threshold=${threshold.toFixed(9)}`;
    return this.request("POST", `${this.base}/detect${asked}`, picture, picture.type);
  }

  /**
   * Packed rows. Rows are lists of numbers, or objects from names of columns to numbers; `columns` are the names of lists.
   * Named columns are brought into the order of the model: all that it knows must be there, each once. The other columns
   * of its training table, such as the label, are left out; any further one is refused. Without names columns are taken
   * by position.
   */
  async encode(rows, columns = null) {
    const embedding = await this.embedding();
    return embedding.encode(inOrder(rows, columns, embedding));
  }

  /** The answer to rows: as bits or, if the client is raw, as the numbers themselves. */
  async sendRows(path, rows, columns) {
    if (!this.raw) return this.send(path, await this.encode(rows, columns));
    const body = JSON.stringify({ rows: Array.from(rows), ...(columns && { columns }) });
    return this.request("POST", path, body, "application/json");
  }

  /** The answer to packed rows; lists of several messages are joined. */
  async send(path, codes) {
    const embedding = await this.embedding();
    const size = MESSAGE_ROWS * embedding.nBytes;
    const answers = [];
    try {
      for (let first = 0; first < Math.max(codes.length, 1); first += size) {
        answers.push(...(await this.answers(path, codes.subarray(first, first + size), embedding)));
      }
    } catch (error) {
      // a FingerprintError tells more, if that is the reason
      if ([400, 404, 409, 422].includes(error.status)) await this.offered(embedding.fingerprint);
      throw error;
    }
    if (embedding.columns && answers.some((answer) => (answer.model ?? null) !== embedding.model)) {
      // another model answers: its embedding is the same, and its columns must be too
      const found = await this.offered(embedding.fingerprint);
      if (JSON.stringify(found.columns) !== JSON.stringify(embedding.columns)) {
        throw new FingerprintError("The service now has a model with different columns. To accept it, call refresh().");
      }
      embedding.model = found.model;
    }
    const joined = { ...answers[0] };
    for (const answer of answers.slice(1)) {
      for (const name of ["labels", "scores", "ids", "similarity", "rows"]) joined[name]?.push(...answer[name]);
    }
    return joined;
  }

  /** The answers to one message or, where the service wants shorter ones, to several. */
  async answers(path, codes, embedding) {
    const rows = codes.length / embedding.nBytes;
    try {
      return [await this.request("POST", path, packMessage(codes, embedding.nBits, embedding.fingerprint))];
    } catch (error) {
      if (error.status !== 413 || rows < 2) throw error;
    }
    const half = Math.floor(rows / 2) * embedding.nBytes;
    const first = await this.answers(path, codes.subarray(0, half), embedding);
    return [...first, ...(await this.answers(path, codes.subarray(half), embedding))];
  }

  async offered(wanted) {
    const query = this.bits === null ? "" : `?bits=${this.bits}`;
    const answer = await this.request("GET", `${this.base}/embedding${query}`);
    const embedding = new Embedding(answer.specification);
    embedding.columns = answer.columns ?? null; // names in the order of the model
    embedding.otherColumns = answer.other_columns ?? [];
    embedding.model = answer.model ?? null;
    for (const fingerprint of [answer.fingerprint ?? null, wanted]) {
      if (fingerprint !== null && fingerprint !== embedding.fingerprint) {
        throw new FingerprintError(
          `The embedding of the service has the fingerprint ${embedding.fingerprint}, not ${fingerprint}. ` +
            "To accept it, refresh() or pin it.",
        );
      }
    }
    return embedding;
  }

  /** The parsed answer to any request; of csv its text. */
  async request(method, path, body = undefined, type = "application/octet-stream") {
    for (let attempt = 0; ; attempt++) {
      let pause = 0.1 * 2 ** attempt * (0.5 + Math.random() / 2);
      let failure;
      try {
        const response = await this.exchange(method, path, body, type);
        const { status } = response;
        const text = await response.text();
        if (status === 200 && response.headers.get("Content-Type")?.startsWith(CSV)) return text;
        const answer = parsed(text);
        if (status === 200 && answer !== null) return answer;
        const { message = "no JSON object", code, request_id: requestId } = answer?.error ?? {};
        failure = new ServiceError(`${method} ${path}: ${status}, ${message}`, { status, code, requestId });
        if (![502, 503, 504].includes(status)) throw failure;
        const asked = response.headers.get("Retry-After") ?? "";
        if (/^\d{1,9}$/.test(asked)) pause = Math.max(pause, Number(asked));
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        failure = new ServiceError(`${method} ${path}: no answer (${error.message}).`);
      }
      if (attempt >= this.retries) throw failure;
      await new Promise((done) => setTimeout(done, 1000 * Math.min(pause, LONGEST_PAUSE)));
    }
  }

  exchange(method, path, body, type) {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = type;
    if (this.token !== null) headers.Authorization = `Bearer ${this.token}`;
    const signal = AbortSignal.timeout(1000 * this.timeout);
    return fetch(this.url + path, { method, headers, body, signal, cache: "no-store" });
  }
}

/** Rows as lists in the order of the columns of an embedding. */
function inOrder(rows, columns, { columns: wanted, nFeatures: width, otherColumns: others }) {
  const places = columns && placesOf(columns, wanted, width, others);
  return Array.from(rows, (row) => {
    const isObject = row !== null && typeof row === "object" && !Array.isArray(row) && !ArrayBuffer.isView(row);
    if (!isObject) {
      if (!places) return row;
      if (row?.length === columns.length) return places.map((place) => row[place]);
      throw new RangeError(`A row needs a value for each of the ${columns.length} columns, got ${row?.length}.`);
    }
    if (!wanted) throw new RangeError("The model knows no names of columns: give rows as lists of numbers.");
    const names = Object.keys(row);
    return placesOf(names, wanted, width, others).map((place) => row[names[place]]);
  });
}

/**
 * Where the wanted columns are among named ones, with which only those of `others` may come; columns of a model without
 * names are taken by position.
 */
export function placesOf(columns, wanted, width, others = []) {
  const names = columns.map(String);
  const where = new Map(names.map((name, i) => [name, i]));
  const told = (list) => list.slice(0, 5).map((name) => JSON.stringify(name)).join(", ") + (list.length > 5 ? " ..." : "");
  const twice = [...new Set(names.filter((name, i) => where.get(name) !== i))];
  if (twice.length) throw new RangeError(`Column names must be unique; repeated: ${told(twice)}.`);
  if (!wanted) {
    if (names.length === width) return names.map((_, i) => i);
    throw new RangeError(`The model knows no names of columns and takes ${width} by position, got ${names.length}.`);
  }
  const missing = wanted.filter((name) => !where.has(name));
  if (missing.length) throw new RangeError(`Required columns are missing: ${told(missing)}.`);
  const known = new Set([...wanted, ...others]);
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length) {
    throw new RangeError(`Unknown columns: ${told(unknown)}. Remove them.`);
  }
  return wanted.map((name) => where.get(name));
}

/** The object in JSON text, or null. */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

/** A copy of the specification, if section 6 allows it. */
function checked(specification) {
  const s = { ...specification };
  if (Object.keys(s).sort().join(" ") !== keysOf(s)) {
    throw new RangeError(`A specification is an object with the keys ${keysOf(s)}.`);
  }
  const need = (name, condition, wanted) => {
    const got = String(s[name]).slice(0, 80);
    if (!condition) throw new RangeError(`The specification needs ${wanted} as "${name}", got ${got}.`);
  };
  const needOne = (name, ...allowed) => need(name, allowed.includes(s[name]), `one of ${allowed.join(", ")}`);
  const needWhole = (name, low, high) =>
    need(name, Number.isInteger(s[name]) && s[name] >= low && s[name] <= high, `an integer from ${low} to ${high}`);
  needOne("format", "mercer-embedding");
  needOne("version", 1);
  needOne("kind", "universal", "qjl", "sigma-delta");
  needOne("matrix", "dense", "structured", "learned");
  need("seed", typeof s.seed === "string" && /^[0-9a-f]{16}$/.test(s.seed), "16 digits 0-9, a-f");
  needWhole("features", 1, s.matrix === "structured" ? 2 ** 18 : 2 ** 22);
  needWhole("bits", 1, s.kind === "universal" ? 1 : 8);
  const most = { dense: 2 ** 34 / s.features, structured: 2 ** 32, learned: 2 ** 26 / s.features }[s.matrix];
  needWhole("projections", 1, Math.min(2 ** 24, Math.floor(most)));
  needWhole("blocks", 1, Math.min(2 ** 24, Math.floor((2 ** 32 - 1) / (s.projections * s.bits))));
  needWhole("step", 1, 2 ** 50);
  needOne("dither", true, s.kind === "universal");
  need("exponent", (s.exponent === null) !== (s.scale === null), "a number, or null with a scale,");
  if (s.exponent !== null) needWhole("exponent", -1022, 1023);
  for (const [name, length] of [["scale", s.features], ["center", s.features], ["offsets", s.projections]]) {
    need(name, s[name] === null || doubles(s, name, length).every(Number.isFinite), "finite numbers");
  }
  if (s.offsets !== null) {
    const whole = (o) => Number.isInteger(o) && Math.abs(o) < 2 ** 52;
    const allowed = s.kind !== "universal" && doubles(s, "offsets", s.projections).every(whole);
    need("offsets", allowed, "integers below 2^52, none for universal codes,");
  }
  if (s.matrix === "learned") {
    const whole = shorts(s, s.projections * s.features).every((a) => a > -32768);
    need("entries", whole, "integers from -32767 to 32767");
  }
  return s;
}

/** An array of the specification. */
function doubles(s, name, length) {
  const view = typeof s[name] === "string" ? bytesOf(s[name]) : null;
  if (view?.byteLength !== 8 * length) {
    throw new RangeError(`The specification needs ${length} doubles in base64 as "${name}".`);
  }
  return Float64Array.from({ length }, (_, i) => view.getFloat64(8 * i, true));
}

/** The entries of a learned matrix. */
function shorts(s, length) {
  const view = typeof s.entries === "string" ? bytesOf(s.entries) : null;
  if (view?.byteLength !== 2 * length) {
    throw new RangeError(`The specification needs ${length} numbers of 2 bytes in base64 as "entries".`);
  }
  return Int16Array.from({ length }, (_, i) => view.getInt16(2 * i, true));
}

function keysOf(s) {
  return s.matrix === "learned" ? WITH_ENTRIES : KEYS;
}

/** Bytes of base64 text as a DataView, or null. */
function bytesOf(text) {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return null;
  return new DataView(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
}

/** 2^e as a double, -1022 <= e <= 1023. */
function powerOfTwo(e) {
  const view = new DataView(new ArrayBuffer(8));
  view.setUint32(0, (e + 1023) * 2 ** 20);
  return view.getFloat64(0);
}

function remainder(t, D) {
  const rest = t % D;
  return rest < 0 ? rest + D : rest;
}

function clamped(x, low, high) {
  return x < low ? low : x > high ? high : x;
}

/** Section 1: h(stream, e) for e = first, ..., first + count - 1. */
function halfWords([k0, k1], stream, first, count) {
  const keys = [k0, k1, 0x1bd11bda ^ k0 ^ k1].map((key) => key | 0);
  const start = Math.floor(first / 4);
  const end = Math.floor((first + count - 1) / 4);
  const halves = new Uint16Array(4 * (end - start + 1));
  const words = new Uint32Array(2);
  for (let counter = start, i = 0; counter <= end; counter++) {
    threefry(keys, counter | 0, stream, words);
    halves[i++] = words[0] & 65535;
    halves[i++] = words[0] >>> 16;
    halves[i++] = words[1] & 65535;
    halves[i++] = words[1] >>> 16;
  }
  return halves.subarray(first - 4 * start, first - 4 * start + count);
}

/** Section 1: writes the words (x0, x1) of the counter (c0, c1) to `words`; `keys` are k0, k1, k2. */
export function threefry(keys, c0, c1, words) {
  let x0 = (c0 + keys[0]) | 0;
  let x1 = (c1 + keys[1]) | 0;
  for (let r = 0; r < 20; r++) {
    const left = ROTATIONS[r % 8];
    x0 = (x0 + x1) | 0;
    x1 = ((x1 << left) | (x1 >>> (32 - left))) ^ x0;
    if (r % 4 === 3) {
      const t = (r + 1) / 4;
      x0 = (x0 + keys[t % 3]) | 0;
      x1 = (x1 + keys[(t + 1) % 3] + t) | 0;
    }
  }
  words[0] = x0;
  words[1] = x1;
  return words;
}

/** H v in place. */
function hadamard(v) {
  for (let width = 1; width < v.length; width *= 2) {
    for (let i = 0; i < v.length; i += 2 * width) {
      for (let j = i; j < i + width; j++) {
        const [left, right] = [v[j], v[j + width]];
        v[j] = left + right;
        v[j + width] = left - right;
      }
    }
  }
}

/** CRC-32 of bytes that follow bytes with the checksum `before`. */
function crc32(bytes, before = 0) {
  let crc = ~before;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** SHA-256 of ASCII text, hexadecimal. (`crypto.subtle` is not there in pages that come over plain HTTP.) */
function sha256(text) {
  const [h, k] = sha256Constants();
  const length = 64 * Math.ceil((text.length + 9) / 64);
  const view = new DataView(new ArrayBuffer(length));
  for (let i = 0; i < text.length; i++) view.setUint8(i, text.charCodeAt(i));
  view.setUint8(text.length, 0x80);
  view.setUint32(length - 8, Math.floor(text.length / 2 ** 29));
  view.setUint32(length - 4, text.length * 8);
  const w = new Int32Array(64);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < length; at += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) {
        w[i] = view.getInt32(at + 4 * i);
      } else {
        const s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3);
        const s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
      }
    }
    let [a, b, c, d, e, f, g, last] = h;
    for (let i = 0; i < 64; i++) {
      const one = last + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
      const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [last, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, last].forEach((x, i) => (h[i] += x));
  }
  return Array.from(h, (x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}

/** The first 32 bits of the fractional parts of the square roots of 8 primes, and of the cube roots of 64. */
function sha256Constants() {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
  const roots = Int32Array.from(primes.slice(0, 8), (p) => fraction(Math.sqrt(p)));
  return [roots, primes.map((p) => fraction(Math.cbrt(p)))];
}
