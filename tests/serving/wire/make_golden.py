"""Write the golden messages that do not exist yet: ``python -m tests.serving.wire.make_golden``.

The bytes are put together here field by field from docs/wire-format.md, section 7, without the package: what is in
``tests/golden/wire`` is the format, and a file that has been released is never changed.
"""

import json
import zlib
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "golden" / "wire"
FINGERPRINT = "00112233445566778899aabbccddeeff" * 2

# name: (bits of a row, rows in hexadecimal)
MESSAGES = {
    "one-bit": (1, ["01"]),
    "thirteen-bits": (13, ["ff1f", "0000", "a50a"]),
    "two-bytes": (16, ["ffff", "0180"]),
    "long": (256, ["%064x" % (3**161 % 2**256), "00" * 32]),
}


def message(bits, rows):
    head = b"MRCW" + bytes([1, 0, 0, 0]) + bytes.fromhex(FINGERPRINT)[:8]
    head += bits.to_bytes(4, "little") + len(rows).to_bytes(4, "little")
    body = b"".join(bytes.fromhex(row) for row in rows)
    return head + zlib.crc32(head + body).to_bytes(4, "little") + body


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, (bits, rows) in MESSAGES.items():
        if not (FOLDER / f"{name}.bin").exists():
            (FOLDER / f"{name}.bin").write_bytes(message(bits, rows))
            content = {"version": 1, "bits": bits, "fingerprint": FINGERPRINT, "rows": rows}
            (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
