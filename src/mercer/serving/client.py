"""The client of a Mercer service: rows become bits here, and only the bits travel.

One file that needs numpy and the standard library (Python 3.9 or newer); it may be copied alone.

    client = Client("http://localhost:8321")
    client.classify(X).labels

X is an array, whose columns are in the order of the model, or a data frame, whose columns are found by name.

The bits are defined in whole numbers by the page "Bits on the wire" of Mercer's manual, docs/wire-format.md, whose
sections and letters are used here. Doubles hold whole numbers below 2^53 only, so no sum is ever rounded.
"""

__all__ = [
    "Classification",
    "Client",
    "Detection",
    "Embedding",
    "FingerprintError",
    "Neighbors",
    "ServiceError",
    "pack_message",
]

import base64
import collections
import hashlib
import http.client
import json
import operator
import random
import re
import struct
import threading
import time
import urllib.parse
import zlib

import numpy as np

CHUNK = 1 << 21  # numbers worked on at once: 16 MB
KEPT = 1 << 27  # numbers of a matrix that are kept; a larger one is made anew, part by part, in every call
ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
ROWS, ANSWER, PAUSE = 256, 1 << 28, 30.0  # at most: rows of a request, bytes of an answer, seconds between attempts
KEYS = "bits blocks center dither exponent features format kind matrix offsets projections scale seed step version"
WITH_ENTRIES = KEYS.replace("dither", "dither entries")  # of a learned matrix

# T of the format, little-endian int16 in base64
TEXT = "BQAPABkAIwAtADcAQQBLAFUAXwBpAHMAfQCHAJEAmwClAK8AugDEAM4A2ADiAOwA9gAAAQoBFAEeASgBMgE8AUYBUAFaAWQBbgF4AYIBjAGWAaABqgG0Ab4ByAHTAd0B5wHxAfsBBQIPAhkCIwItAjcCQQJLAlUCXwJpAnMCfQKHApECnAKmArACugLEAs4C2ALiAuwC9gIAAwoDFAMeAygDMwM9A0cDUQNbA2UDbwN5A4MDjQOXA6EDrAO2A8ADygPUA94D6APyA/wDBgQRBBsEJQQvBDkEQwRNBFcEYQRsBHYEgASKBJQEngSoBLMEvQTHBNEE2wTlBO8E+gQEBQ4FGAUiBSwFNgVBBUsFVQVfBWkFcwV+BYgFkgWcBaYFsQW7BcUFzwXZBeMF7gX4BQIGDAYWBiEGKwY1Bj8GSgZUBl4GaAZyBn0GhwaRBpsGpgawBroGxAbPBtkG4wbtBvgGAgcMBxcHIQcrBzUHQAdKB1QHXwdpB3MHfQeIB5IHnAenB7EHuwfGB9AH2gflB+8H+QcECA4IGAgjCC0INwhCCEwIVwhhCGsIdgiACIoIlQifCKoItAi+CMkI0wjeCOgI8wj9CAcJEgkcCScJMQk8CUYJUQlbCWUJcAl6CYUJjwmaCaQJrwm5CcQJzgnZCeMJ7gn4CQMKDQoYCiMKLQo4CkIKTQpXCmIKbAp3CoIKjAqXCqEKrAq3CsEKzArWCuEK7Ar2CgELDAsWCyELLAs2C0ELTAtWC2ELbAt2C4ELjAuWC6ELrAu2C8ELzAvXC+EL7Av3CwIMDAwXDCIMLQw4DEIMTQxYDGMMbgx4DIMMjgyZDKQMrgy5DMQMzwzaDOUM8Az7DAUNEA0bDSYNMQ08DUcNUg1dDWgNcw1+DYkNlA2fDakNtA2/DcoN1Q3gDewN9w0CDg0OGA4jDi4OOQ5EDk8OWg5lDnAOew6GDpIOnQ6oDrMOvg7JDtQO4A7rDvYOAQ8MDxgPIw8uDzkPRA9QD1sPZg9xD30PiA+TD58Pqg+1D8APzA/XD+IP7g/5DwUQEBAbECcQMhA9EEkQVBBgEGsQdxCCEI0QmRCkELAQuxDHENIQ3hDpEPUQAREMERgRIxEvEToRRhFSEV0RaRF0EYARjBGXEaMRrxG6EcYR0hHeEekR9REBEgwSGBIkEjASPBJHElMSXxJrEncSghKOEpoSphKyEr4SyhLWEuIS7hL6EgUTERMdEykTNRNBE00TWRNmE3ITfhOKE5YTohOuE7oTxhPSE98T6xP3EwMUDxQbFCgUNBRAFEwUWRRlFHEUfhSKFJYUoxSvFLsUyBTUFOAU7RT5FAYVEhUfFSsVOBVEFVEVXRVqFXYVgxWPFZwVqRW1FcIVzhXbFegV9BUBFg4WGxYnFjQWQRZOFloWZxZ0FoEWjhaaFqcWtBbBFs4W2xboFvUWAhcPFxwXKRc2F0MXUBddF2oXdxeEF5IXnxesF7kXxhfUF+EX7hf7FwkYFhgjGDEYPhhLGFkYZhhzGIEYjhicGKkYtxjEGNIY3xjtGPsYCBkWGSMZMRk/GU0ZWhloGXYZgxmRGZ8ZrRm7GckZ1hnkGfIZABoOGhwaKho4GkYaVBpiGnAafxqNGpsaqRq3GsUa1BriGvAa/xoNGxsbKhs4G0YbVRtjG3IbgBuPG50brBu6G8kb2BvmG/UbBBwSHCEcMBw/HE0cXBxrHHociRyYHKccthzFHNQc4xzyHAEdEB0fHS8dPh1NHVwdbB17HYodmh2pHbgdyB3XHecd9h0GHhYeJR41HkQeVB5kHnQegx6THqMesx7DHtMe4x7zHgMfEx8jHzMfQx9TH2QfdB+EH5QfpR+1H8Uf1h/mH/cfByAYICggOSBKIFogayB8II0gniCuIL8g0CDhIPIgAyEUISYhNyFIIVkhaiF8IY0hnyGwIcEh0yHlIfYhCCIZIisiPSJPImAiciKEIpYiqCK6Iswi3yLxIgMjFSMnIzojTCNfI3EjhCOWI6kjvCPOI+Ej9CMHJBokLSRAJFMkZiR5JIwkoCSzJMYk2iTtJAElFCUoJTwlTyVjJXcliyWfJbMlxyXbJfAlBCYYJi0mQSZWJmomfyaTJqgmvSbSJucm/CYRJyYnOydRJ2YneyeRJ6cnvCfSJ+gn/icTKCkoQChWKGwogiiZKK8oxijcKPMoCikhKTcpTilmKX0plCmrKcMp2inyKQoqIio5KlEqaiqCKpoqsirLKuMq/CoVKy4rRytgK3krkiusK8Ur3yv4KxIsLCxGLGAseyyVLLAsyizlLAAtGy02LVEtbS2ILaQtwC3cLfgtFC4wLk0uaS6GLqMuwC7dLvsuGC82L1Qvci+QL64vzS/sLwowKTBJMGgwiDCnMMcw5zAIMSgxSTFqMYsxrDHOMfAxEjI0MlYyeTKcMr8y4jIGMyozTjNyM5czvDPhMwc0LDRSNHk0nzTGNO00FTU9NWU1jTW2Nd81CTYzNl02iDazNt42Cjc2N2M3kDe9N+s3GjhJOHg4qDjYOAk5OjlsOZ450TkFOjk6bjqjOtk6EDtIO4A7uTvyOyw8aDykPOA8Hj1dPZw93T0ePmE+pD7pPi8/dj++PwdAUkCfQOxAPEGNQd9BM0KKQuJCPEOYQ/ZDV0S7RCFFiUX1RWRG10ZNR8dHRUjISE9J3ElvSglLqUtRTAJNvE2CTlNPM1AkUShSQ1N6VNNVWVcaWStbtl0KYfpl8nE="  # noqa: E501
TABLE = np.frombuffer(base64.b64decode(TEXT), dtype="<i2").astype(np.int16)

Classification = collections.namedtuple("Classification", "labels classes scores bits model")
Detection = collections.namedtuple("Detection", "boxes scores parts threshold width height model")
Neighbors = collections.namedtuple("Neighbors", "ids similarity labels")
MESSAGE, JSON, CSV = "application/octet-stream", "application/json", "text/csv"
PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg"}  # first bytes -> media type


class ServiceError(Exception):
    """The service refused a request (see `status`, `code` and `request_id`) or could not be reached (status None)."""

    status = code = request_id = None


class FingerprintError(ServiceError):
    """A service uses another embedding, or other columns, than what was pinned or fetched first."""


class Embedding:
    """Bits of rows, by the specification of section 6 (a dict, as parsed from JSON).

    Attributes
    ----------
    fingerprint : str
    n_features, n_bits, n_bytes : int, of a row and of its code

    Examples
    --------
    >>> embedding = Embedding(
    ...     dict(format="mercer-embedding", version=1, kind="universal", matrix="dense", seed="0123456789abcdef",
    ...          features=2, blocks=1, projections=16, bits=1, step=8192, dither=True, exponent=0, scale=None,
    ...          center=None, offsets=None))
    >>> embedding.encode([[1.0, 2.0], [1.0, 3.0]])
    array([[ 76, 232],
           [249, 225]], dtype=uint8)
    """

    def __init__(self, specification):
        s = self.specification = _checked(specification)
        text = json.dumps(s, sort_keys=True, separators=(",", ":")).encode("ascii")
        self.fingerprint = hashlib.sha256(text).hexdigest()
        self.n_features = s["blocks"] * s["features"]
        self.n_bits = s["blocks"] * s["projections"] * s["bits"]
        self.n_bytes = -(-self.n_bits // 8)
        self._key = int(s["seed"][8:], 16), int(s["seed"][:8], 16)
        self._factor = np.ldexp(1.0, s["exponent"]) if s["scale"] is None else _doubles(s, "scale", "features")
        self._center = 0.0 if s["center"] is None else _doubles(s, "center", "features")
        self._shift, self._kept = self._shifts(), {}

    def encode(self, X):
        """Codes of the rows of X, (n, n_features): packed bits, lowest first, uint8 (n, n_bytes)."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features or X.dtype.kind not in "biuf":
            wanted = f"numbers in an array of shape (rows, {self.n_features})"
            raise ValueError(f"Embedding.encode needs {wanted}, got {X.dtype} in the shape {X.shape}.")
        s = self.specification
        codes = np.empty((len(X), self.n_bytes), dtype=np.uint8)
        step = max(1, CHUNK // (s["blocks"] * max(s["projections"], 2 * s["features"], 256)))
        for first in range(0, len(X), step):
            Z = self._whole(X[first : first + step].astype(np.float64), first)
            P = self._structured(Z) if s["matrix"] == "structured" else self._dense(Z)
            values = self._quantised(P.astype(np.int64)).reshape(-1, self.n_bits // s["bits"], 1)
            bits = (values >> np.arange(s["bits"], dtype=np.uint8)) & np.uint8(1)
            codes[first : first + step] = np.packbits(bits.reshape(-1, self.n_bits), axis=1, bitorder="little")
        return codes

    def _whole(self, X, first):
        """Section 2: z, one row per block."""
        X = X.reshape(-1, self.specification["features"])
        with np.errstate(over="ignore", invalid="ignore"):
            Z = (X - self._center) * self._factor
        bad = ~np.isfinite(X).all(axis=1) | np.isnan(Z).any(axis=1)
        if bad.any():
            row = first + int(bad.argmax()) // self.specification["blocks"]
            raise ValueError(f"Embedding.encode needs finite numbers, got NaN or an infinity in row {row}.")
        return np.clip(np.floor(Z + 0.5), -32767, 32767)

    def _dense(self, Z):
        """Section 3: P = Z A', A of M rows from stream 0 or from the specification."""
        M, d = self.specification["projections"], self.specification["features"]
        if self.specification["matrix"] == "learned":
            self._kept = self._kept or {0: _numbers(self.specification, "entries", "<i2", M, d).astype(np.float64)}
            return Z @ self._kept[0].T
        P, step = np.empty((len(Z), M)), max(1, CHUNK // d)
        for first in range(0, M, step):
            count = min(step, M - first)
            P[:, first : first + count] = Z @ self._part(_entries, first * d, count * d, M * d).reshape(count, d).T
        return P

    def _structured(self, Z):
        """Section 3: H S_2 H S_1 H S_0 z of every group of n projections, signs from stream 2."""
        M, d = self.specification["projections"], self.specification["features"]
        n = max(256, 1 << (d - 1).bit_length())
        P = np.empty((len(Z), M))
        for group in range(-(-M // n)):
            V = np.zeros((len(Z), n))
            V[:, :d] = Z
            for e in range(3 * group * n, 3 * (group + 1) * n, n):
                V *= self._part(_signs, e, n, 3 * (M + n))
                _hadamard(V)
            P[:, group * n : (group + 1) * n] = V[:, : M - group * n]
        return P

    def _part(self, make, first, count, size):
        part = self._kept[first] if first in self._kept else make(self._key, first, count)
        if size <= KEPT:
            self._kept[first] = part
        return part.astype(np.float64)

    def _shifts(self):
        """Section 4: what the quantiser adds to p: w if universal, else v - o."""
        s = self.specification
        M, D = s["projections"], s["step"]
        shift = np.zeros(M, dtype=np.int64)
        if s["dither"]:
            h = _half_words(self._key, 1, 0, M).astype(np.int64)
            shift += h * (D >> 16) + (h * (D & 65535) >> 16)  # floor(h D / 65536); h D may need 66 bits
            shift -= 0 if s["kind"] == "universal" else D // 2
        if s["offsets"] is not None:
            shift -= _doubles(s, "offsets", "projections").astype(np.int64)
        return shift

    def _quantised(self, P):
        """Section 4: values of the projections P, which are overwritten."""
        D, B, kind = (self.specification[name] for name in ("step", "bits", "kind"))
        half, most = 1 << (B - 1), (1 << B) - 1
        P += self._shift
        if kind == "universal":
            return (P % (2 * D) >= D).astype(np.uint8)
        if kind == "qjl":
            return np.clip(P // D + half, 0, most).astype(np.uint8)
        values, missing = np.empty(P.shape, dtype=np.uint8), np.zeros(len(P), dtype=np.int64)
        for b in range(P.shape[1]):
            t = P[:, b] + missing
            q = np.clip(t // D + half, 0, most)
            missing = np.clip(t - (q - half) * D - D // 2, -(D << B), D << B)
            values[:, b] = q
        return values


def pack_message(codes, n_bits, fingerprint):
    """Section 7: the message of packed rows (n, ceil(n_bits / 8)), bytes."""
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    if codes.ndim != 2 or not len(codes) or codes.shape[1] != -(-n_bits // 8):
        raise ValueError(
            f"pack_message needs at least one row of {-(-n_bits // 8)} bytes, got an array of shape {codes.shape}."
        )
    head = struct.pack("<4sB3x8sII", b"MRCW", 1, bytes.fromhex(fingerprint)[:8], n_bits, len(codes))
    return head + struct.pack("<I", zlib.crc32(codes.tobytes(), zlib.crc32(head))) + codes.tobytes()


class Client:
    """Client of a service that classifies, detects and searches. It sends bits instead of rows unless ``raw`` is set.

    Rows are an array, or a data frame (anything with ``columns`` and ``to_numpy``). Columns of a frame are taken by
    name, in the order of the model: all that it knows must be there, each once. The other columns of its training
    table, such as the label, are left out, and any further one is refused. If the model knows no names, or the rows
    have none, columns are taken by position.

    The embedding is fetched on first use and kept: a service that changes to another one is refused until `refresh` is
    called. A request is repeated after a connection error and after 502, 503 and 504, with pauses that double or that
    the service asks for (Retry-After), never after 4xx, but that after 413 rows are sent in shorter messages. Several
    threads may use one client.

    Parameters
    ----------
    url : str
        Address of the service, such as "http://localhost:8321".
    token : str or None
        Bearer token, if the service needs one.
    timeout, retries : number, int
        Seconds after which an unanswered attempt fails, and the number of further attempts.
    bits : int or None
        Bits per row, one of the rates of the service. None uses the longest code.
    fingerprint : str or None
        Fingerprint of the only embedding to accept. None accepts the first one fetched.
    model : str or None
        Name of the model to use, one of those that `models` lists. None uses the first.
    raw : bool
        Send rows as numbers in `classify` and `neighbors`, which models without bits require.

    Examples
    --------
    >>> client = Client("http://localhost:8321", bits=128)
    >>> client.classify(X_new).labels  # doctest: +SKIP
    array([3, 8, 1])
    >>> Client("http://localhost:8321", model="people").detect("street.jpg").boxes  # doctest: +SKIP
    array([[ 12.,  40.,  88., 251.]])
    """

    def __init__(self, url, token=None, timeout=10, retries=3, bits=None, fingerprint=None, model=None, raw=False):
        self._place = urllib.parse.urlsplit(url)
        if self._place.scheme not in ("http", "https") or not self._place.hostname:
            raise ValueError(f"Client needs a url that starts with http:// or https://, got {url!r}.")
        if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
            raise ValueError(f"Client needs a timeout > 0 in seconds, or None; got {timeout!r}.")
        self._timeout, self._retries, self._pinned = timeout, _count(retries, "retries", 0), fingerprint
        self._query = "" if bits is None else f"?bits={_count(bits, 'bits', 1)}"
        self._base = "/v1" if model is None else f"/v1/models/{urllib.parse.quote(model, safe='')}"
        self._is_raw = bool(raw)
        self._headers = {}
        if token is not None:
            token = token.strip()  # of the line end of its file
            if not (token.isascii() and token.isprintable()):
                raise ValueError("Client needs a token made of printable ASCII characters.")  # which is not shown
            self._headers["Authorization"] = f"Bearer {token}"
        self._embedding, self._columns, self._others, self._model = None, None, [], None
        self._local = threading.local()

    @property
    def embedding(self):
        """The `Embedding` of the service."""
        return self._embedding or self.refresh()

    def refresh(self):
        """Fetch the embedding again and use it from now on. It must still match a given fingerprint."""
        self._embedding, self._columns, self._others, self._model = self._fetched(self._pinned)
        return self._embedding

    @property
    def columns(self):
        """Column names in the order of the model, or None if it has none."""
        return self._columns if self.embedding else None

    @property
    def other_columns(self):
        """Names of columns that rows may also have, such as the label; the client ignores them."""
        return self._others if self.embedding else []

    def models(self):
        """Names of the models of the service, the default first."""
        return [each["name"] for each in self._request("GET", "/v1/models")["models"]]

    def model(self):
        """Description of the model, a dict."""
        return self._request("GET", f"{self._base}/model")

    def classify(self, X):
        """Classification(labels (n,), classes (c,), scores as the service gives them, bits, model) of rows.

        For a model with several labels per row, each entry of ``labels`` is a list.
        """
        return _classification(self._sent("/classify", X))

    def neighbors(self, X, k=10):
        """Neighbors(ids, similarity, labels), each (n, k), in the index of the service; labels None if it has none."""
        answers = self._sent(f"/neighbors?k={_count(k, 'k', 1)}", X)
        labels = _joined(answers, "labels") if answers[0].get("labels") else None
        return Neighbors(_joined(answers, "ids"), _joined(answers, "similarity"), labels)

    neighbours = neighbors  # as it was called until 0.1

    def label_table(self, table, scores=False):
        """Return a csv file (given by its path or bytes) with a last column ``predicted``, and optionally scores.

        Sends the table itself, not bits.
        """
        path = f"{self._base}/classify?scores={int(bool(scores))}"
        return self._request("POST", path, _content(table), CSV, csv=True)

    def neighbors_table(self, table, k=10):
        """Return the nearest rows of each row of a csv file, as a csv with one line per neighbor."""
        path = f"{self._base}/neighbors?k={_count(k, 'k', 1)}"
        return self._request("POST", path, _content(table), CSV, csv=True)

    def classify_pictures(self, pictures):
        """Classify pictures, each the path or the bytes of a PNG or JPEG file."""
        return _classification([self._looked_at("/classify", picture) for picture in pictures])

    def explain(self, picture, label=None):
        """Explain the predicted class of a picture, or another: a dict with ``label``, ``measure`` and ``overlay``.

        ``overlay`` is a PNG to lay over the picture: blue parts count for the class, orange parts against it.
        """
        query = {"explain": 1} if label is None else {"explain": 1, "label": label}
        found = self._looked_at(f"/classify?{urllib.parse.urlencode(query)}", picture)["explanation"]
        return {**found, "overlay": base64.b64decode(found["overlay"].partition(",")[2])}

    def detect(self, picture, threshold=None):
        """Detection(boxes (n, 4), scores (n,), parts (n, P, 4), threshold, width, height, model) in a picture.

        Boxes are xmin ymin xmax ymax in pixels, best first. The default threshold is that of the detector.
        """
        query = "" if threshold is None else f"?threshold={float(threshold):.9f}"
        found = self._looked_at(f"/detect{query}", picture)
        arrays = {name: np.array(found[name], dtype=np.float64) for name in ("boxes", "scores", "parts")}
        arrays["boxes"] = arrays["boxes"].reshape(-1, 4)
        return Detection(**{name: arrays.get(name, found[name]) for name in Detection._fields})

    def _looked_at(self, path, picture):
        content = _content(picture)
        media = next((media for first, media in PICTURES.items() if content.startswith(first)), None)
        if media is None:
            raise ValueError("Client needs a picture as a PNG or JPEG file, by its path or its bytes.")
        return self._request("POST", self._base + path, content, media)

    def _fetched(self, wanted):
        answer = self._request("GET", f"{self._base}/embedding{self._query}")
        embedding = Embedding(answer.get("specification"))
        for fingerprint, whose in ((answer.get("fingerprint"), "which it states"), (wanted, "which is expected")):
            if fingerprint is not None and fingerprint != embedding.fingerprint:
                is_not = f"has the fingerprint {embedding.fingerprint}, not {fingerprint}, {whose}"
                raise FingerprintError(
                    f"The embedding of the service {is_not}. To accept it, call refresh() or pin it."
                )
        return embedding, answer.get("columns"), answer.get("other_columns") or [], answer.get("model")

    def _sent(self, path, X):
        if self._is_raw:
            return self._sent_raw(path, X)
        embedding, columns = self.embedding, self._columns
        is_frame = hasattr(X, "columns") and hasattr(X, "to_numpy")
        codes = embedding.encode(_in_order(X, columns, self._others) if is_frame else X)

        def message(part):
            return pack_message(part, embedding.n_bits, embedding.fingerprint)

        try:
            answers = self._in_parts(path, codes, message, MESSAGE)
        except ServiceError as error:
            if error.status in (400, 404, 409, 422):
                self._fetched(embedding.fingerprint)  # a FingerprintError tells more, if that is the reason
            raise
        if columns is not None and any(answer.get("model") != self._model for answer in answers):
            self._check_columns(embedding, columns)
        return answers

    def _sent_raw(self, path, X):
        """The numbers themselves; names of columns go with them, and the service brings them into order."""
        is_frame = hasattr(X, "columns") and hasattr(X, "to_numpy")
        names = {"columns": [str(name) for name in X.columns]} if is_frame else {}
        rows = (X.to_numpy() if is_frame else np.asarray(X)).tolist()
        return self._in_parts(path, rows, lambda part: json.dumps({"rows": part, **names}).encode(), JSON)

    def _in_parts(self, path, rows, body, media):
        parts = [rows[first : first + ROWS] for first in range(0, max(len(rows), 1), ROWS)]
        return [answer for part in parts for answer in self._answers(path, part, body, media)]

    def _check_columns(self, embedding, columns):
        """Another model answers: its embedding is the same, and its columns must be too."""
        _, found, _, model = self._fetched(embedding.fingerprint)
        if found != columns:
            raise FingerprintError("The service now has a model with different columns. To accept it, call refresh().")
        self._model = model

    def _answers(self, path, rows, body, media):
        """To one message or, where the service wants shorter ones, to several."""
        try:
            return [self._request("POST", self._base + path, body(rows), media)]
        except ServiceError as error:
            if error.status != 413 or len(rows) == 1:
                raise
        half = len(rows) // 2
        return self._answers(path, rows[:half], body, media) + self._answers(path, rows[half:], body, media)

    def _request(self, method, path, body=None, media=MESSAGE, csv=False):
        for attempt in range(self._retries + 1):
            pause = 0.1 * 2**attempt * random.uniform(0.5, 1)
            try:
                status, data, kind, asked = self._exchange(
                    method, self._place.path.rstrip("/") + path, body, media, CSV if csv else JSON
                )
            except (OSError, http.client.HTTPException) as error:
                self._close()
                failure = ServiceError(f"{method} {path}: no answer from {self._place.netloc} ({error!r}).")
            else:
                if csv and status == 200 and kind.startswith(CSV):
                    return data
                failure = _failure(f"{method} {path}", status, data)
                if failure is None:
                    return json.loads(data)
                if status not in (502, 503, 504):
                    break
                pause = max(pause, float(asked) if re.fullmatch("[0-9]{1,9}", asked) else 0)
            if attempt < self._retries:
                time.sleep(min(pause, PAUSE))
        raise failure

    def _exchange(self, method, path, body, media, wanted):
        connection = self._local.__dict__.get("connection")
        if connection is None:
            kind = http.client.HTTPSConnection if self._place.scheme == "https" else http.client.HTTPConnection
            connection = self._local.connection = kind(self._place.hostname, self._place.port, timeout=self._timeout)
        connection.request(method, path, body, {"Content-Type": media, "Accept": wanted, **self._headers})
        response = connection.getresponse()
        data = response.read(ANSWER)
        if response.will_close or not response.isclosed():
            self._close()
        headers = response.headers
        return response.status, data, headers.get("Content-Type", ""), headers.get("Retry-After", "")

    def _close(self):
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()


def _count(value, name, least):
    """The value, if it is a whole number and no smaller."""
    try:
        if operator.index(value) >= least:
            return operator.index(value)
    except TypeError:
        pass
    raise ValueError(f"Client needs {name} to be an integer >= {least}; got {value!r}.")


def _content(source):
    """The bytes of a file, given by its path or as they are."""
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    with open(source, "rb") as file:
        return file.read()


def _classification(answers):
    classes, bits, model = (answers[-1].get(key) for key in ("classes", "bits", "model"))
    return Classification(_joined(answers, "labels", of_rows=True), classes, _joined(answers, "scores"), bits, model)


def _in_order(frame, columns, others):
    """The columns of a data frame in the order of the model, as an array; without names all of them as they are."""
    if columns is None:
        return frame.to_numpy()
    counts = collections.Counter(frame.columns)
    for what, times in (("missing", 0), ("repeated", 2)):
        wrong = [name for name in columns if min(counts[name], 2) == times]
        if wrong:
            raise ValueError(f"Client needs every column of the model exactly once; {what}: {_names(wrong)}.")
    unknown = [name for name in counts if name not in {*columns, *others}]
    if unknown:
        raise ValueError(f"Client got unknown columns: {_names(unknown)}. Remove them.")
    return frame[list(columns)].to_numpy()


def _names(names):
    return ", ".join(map(ascii, names[:5])) + (f" and {len(names) - 5} more" if names[5:] else "")


def _joined(answers, key, of_rows=False):
    """What several answers have under a key, as one array, or None; one entry for each row, even if that is a list."""
    if answers[0][key] is None:
        return None
    rows = [row for answer in answers for row in answer[key]]
    if not of_rows or not isinstance(rows[0], list):
        return np.array(rows)
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def _failure(request, status, data):
    """None if an answer is a JSON object with status 200, else the error to raise."""
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    if status == 200 and isinstance(answer, dict):
        return None
    error = answer.get("error") if isinstance(answer, dict) else None
    error = error if isinstance(error, dict) else {"message": f"no JSON object but {data[:80]!r}"}
    failure = ServiceError(f"{request}: {status}, {error.get('message')}")
    failure.status, failure.code, failure.request_id = status, error.get("code"), error.get("request_id")
    return failure


def _checked(specification):
    """A copy of the specification, if section 6 allows it."""
    keys = WITH_ENTRIES if isinstance(specification, dict) and specification.get("matrix") == "learned" else KEYS
    if not isinstance(specification, dict) or " ".join(sorted(map(str, specification))) != keys:
        raise ValueError(f"A specification is an object with the keys {keys}, got {specification!r:.200}.")
    s = dict(specification)

    def need(name, condition, wanted):
        if not condition:
            raise ValueError(f"The specification needs {wanted} as {name!r}, got {s[name]!r:.100}.")

    def need_one(name, *allowed):
        need(name, type(s[name]) is type(allowed[0]) and s[name] in allowed, f"one of {allowed}")

    def need_whole(name, low, high):
        need(name, type(s[name]) is int and low <= s[name] <= high, f"an integer from {low} to {high}")

    need_one("format", "mercer-embedding")
    need_whole("version", 1, 1)
    need_one("kind", "universal", "qjl", "sigma-delta")
    need_one("matrix", "dense", "structured", "learned")
    need("seed", isinstance(s["seed"], str) and re.fullmatch("[0-9a-f]{16}", s["seed"]), "16 digits 0-9, a-f")
    need_whole("features", 1, 1 << (18 if s["matrix"] == "structured" else 22))
    need_whole("bits", 1, 1 if s["kind"] == "universal" else 8)
    most = {"dense": (1 << 34) // s["features"], "structured": 1 << 32, "learned": (1 << 26) // s["features"]}
    need_whole("projections", 1, min(1 << 24, most[s["matrix"]]))
    need_whole("blocks", 1, min(1 << 24, ((1 << 32) - 1) // (s["projections"] * s["bits"])))
    need_whole("step", 1, 1 << 50)
    need_one("dither", True, s["kind"] == "universal")
    need("exponent", (s["exponent"] is None) != (s["scale"] is None), "a number, or null with a scale,")
    if s["exponent"] is not None:
        need_whole("exponent", -1022, 1023)
    for name, length in (("scale", "features"), ("center", "features"), ("offsets", "projections")):
        need(name, s[name] is None or np.isfinite(_doubles(s, name, length)).all(), "finite numbers")
    if s["offsets"] is not None:
        o = _doubles(s, "offsets", "projections")
        whole = not (o % 1).any() and abs(o).max() < 2.0**52 and s["kind"] != "universal"
        need("offsets", whole, "integers below 2^52, none for universal codes,")
    if s["matrix"] == "learned":
        whole = _numbers(s, "entries", "<i2", s["projections"], s["features"])
        need("entries", whole.min() > -32768, "integers from -32767 to 32767")
    return s


def _doubles(s, name, length):
    return _numbers(s, name, "<f8", s[length]).astype(np.float64)


def _numbers(s, name, dtype, *shape):
    try:
        return np.frombuffer(base64.b64decode(s[name], validate=True), dtype).reshape(shape)
    except (TypeError, ValueError):
        wanted = f"{' x '.join(map(str, shape))} numbers of {dtype[-1]} bytes in base64"
        raise ValueError(f"The specification needs {wanted} as {name!r}.") from None


def _threefry(key, c0, c1):
    """Section 1: the words (x0, x1) of counters (c0, c1), c0 an array of uint32."""
    keys = key[0], key[1], 0x1BD11BDA ^ key[0] ^ key[1]
    x0, x1 = c0 + np.uint32(keys[0]), np.full_like(c0, (c1 + keys[1]) % 2**32)
    for r in range(20):
        x0 += x1
        x1 = (x1 << np.uint32(ROTATIONS[r % 8]) | x1 >> np.uint32(32 - ROTATIONS[r % 8])) ^ x0
        if r % 4 == 3:
            t = r // 4 + 1
            x0 += np.uint32(keys[t % 3])
            x1 += np.uint32((keys[(t + 1) % 3] + t) % 2**32)
    return x0, x1


def _half_words(key, stream, first, count):
    """Section 1: h(stream, e) for e = first, ..., first + count - 1, little-endian uint16."""
    c0 = np.arange(first // 4, (first + count - 1) // 4 + 1, dtype=np.int64).astype(np.uint32)
    return np.stack(_threefry(key, c0, stream), axis=1).astype("<u4").view("<u2").ravel()[first % 4 :][:count]


def _entries(key, first, count):
    u = _half_words(key, 0, first, count)
    return np.where(u < 32768, TABLE[u % 1024], -TABLE[u % 1024])


def _signs(key, first, count):
    words = _half_words(key, 2, first // 16, -(-(first % 16 + count) // 16))
    return 1 - 2 * np.unpackbits(words.view(np.uint8), bitorder="little")[first % 16 :][:count].astype(np.int8)


def _hadamard(V):
    """V H in place, H of the order of a row."""
    for level in range(V.shape[1].bit_length() - 1):
        pairs = V.reshape(len(V), -1, 2, 1 << level)
        total, difference = pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]
        pairs[:, :, 0], pairs[:, :, 1] = total, difference
