"""Pictures in bodies: a class with what speaks for it, boxes, and hostile files that are refused in a sentence."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from mercer import InputError, KernelIndex
from mercer.serving import create_app
from mercer.serving.bodies.pictures import LONGEST_SIDE, check_picture
from mercer.serving.client import Client, ServiceError
from mercer.vision import read_image
from tests.detection.scenes import scenes
from tests.serving.running import Running
from tests.serving.samples import chi2_model, detector, picture, pictures_model, striped

PNG, JPEG = "image/png", "image/jpeg"


@pytest.fixture(scope="module")
def service():
    models = {"kinds": pictures_model(), "bars": detector(), "rows": chi2_model()}
    with Running(models, max_pixels=60_000, max_body_bytes=200_000) as running:
        yield running


def sent(service, body, path="kinds/classify", content_type=PNG):
    return service.ask("POST", f"/v1/models/{path}", body, content_type=content_type)


@pytest.mark.parametrize(("format", "media"), [("PNG", PNG), ("JPEG", JPEG)])
def test_a_picture_gets_its_class_and_what_speaks_for_it(service, format, media):
    body = picture(striped(), format)
    answer = sent(service, body, "kinds/classify?explain=1", media).json
    pixels = read_image(body)
    score = float(pictures_model().decision_function([pixels])[0])
    assert answer["labels"] == pictures_model().predict([pixels]).tolist() == ["stripes"]
    assert answer["scores"] == [[-score, score]]
    found = Client(service.url, model="kinds").explain(body, "noise")
    assert (found["label"], found["measure"]) == ("noise", "additive")
    overlay = np.asarray(Image.open(io.BytesIO(found["overlay"])))
    assert overlay.shape == (40, 48, 4)
    heat = pictures_model().explain(pixels, "noise").heat()
    place = np.unravel_index(np.abs(heat).argmax(), heat.shape)
    assert overlay[place].tolist()[:3] == ([0, 114, 178] if heat[place] > 0 else [213, 94, 0])
    assert overlay[..., 3].max() == 210


def test_a_picture_gets_boxes_around_its_objects(service):
    image = scenes(1)[0][0]
    client, model = Client(service.url, model="bars"), detector()
    found, wanted = client.detect(picture(image)), model.detect(np.dstack([image] * 3))
    assert len(found.boxes) == len(wanted) > 0
    np.testing.assert_allclose(found.boxes, wanted.boxes, atol=0.01)
    np.testing.assert_allclose(found.scores, wanted.scores)
    assert found.parts.shape == wanted.parts.shape
    assert (found.threshold, found.width, found.height) == (-0.25, 128, 112)
    assert client.detect(picture(image), threshold=50).boxes.shape == (0, 4)
    assert client.model()["threshold"] == -0.25
    assert client.models() == ["kinds", "bars", "rows"]


def test_several_pictures_are_classified_one_after_another(service, tmp_path):
    (tmp_path / "a.png").write_bytes(picture(striped(1)))
    noise = np.random.default_rng(5).integers(256, size=(40, 48), dtype=np.uint8)
    found = Client(service.url, model="kinds").classify_pictures([tmp_path / "a.png", picture(noise)])
    assert found.labels.tolist() == ["stripes", "noise"]
    with pytest.raises(ValueError, match="PNG or JPEG"):
        Client(service.url, model="kinds").detect(b"GIF89a")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width, height, data=b""):
    """A PNG that claims a size, whatever it holds."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def jpeg_of(width, height):
    """A JPEG whose header claims a size."""
    body = picture(striped(), "JPEG")
    place = body.index(b"\xff\xc0") + 5
    return body[:place] + struct.pack(">HH", height, width) + body[place + 4 :]


GOOD = picture(striped())
HOSTILE = {
    "a bomb": (png_of(15_000, 15_000, b"\0" * 10**6), PNG, 413, "15000 x 15000 pixels, more than the maximum of "
        "60,000"),
    "a long side": (png_of(2**31 - 1, 1), PNG, 413, f"the maximum for a side is {LONGEST_SIDE}"),
    "no pixels": (png_of(0, 7), PNG, 422, "its size is missing"),
    "a jpeg bomb": (jpeg_of(9_000, 9_000), JPEG, 413, "9000 x 9000 pixels"),
    "truncated": (GOOD[: len(GOOD) // 2], PNG, 422, "The picture is damaged or incomplete"),
    "truncated in its header": (GOOD[:20], PNG, 422, "its size is missing"),
    "a jpeg without a frame": (b"\xff\xd8\xff\xe0\x00\x04ab", JPEG, 422, "its size is missing"),
    "a jpeg that loops": (b"\xff\xd8" + b"\xff" * 5000, JPEG, 422, "its size is missing"),
    "data missing": (png_of(40, 40), PNG, 422, "The picture is damaged or incomplete"),
    "another format": (picture(striped(), "GIF"), PNG, 415, "says PNG, but the body is no PNG file"),
    "a jpeg called png": (picture(striped(), "JPEG"), PNG, 415, "says PNG, but the body is no PNG file"),
    "a format not taken": (picture(striped(), "GIF"), "image/gif", 415, "image/png or image/jpeg"),
    "rows": (b'{"rows": [[1]]}', "application/json", 415, "takes pictures"),
    "nothing": (b"", PNG, 415, "is no PNG file"),
    "too many bytes": (GOOD + b"\0" * 200_000, PNG, 413, "The maximum size of a body is 200000 bytes. Send a smaller "
        "picture."),
}  # fmt: skip


@pytest.mark.parametrize(("body", "media", "status", "words"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("path", ["kinds/classify", "bars/detect"])
def test_hostile_pictures_are_refused_in_a_sentence(service, body, media, status, words, path):
    answer = sent(service, body, path, media)
    assert answer.status == status, answer.body
    message = answer.json["error"]["message"]
    assert words in message
    assert "\n" not in message


def test_a_bomb_is_refused_before_anything_is_unpacked(monkeypatch):
    from mercer.serving.http.faults import Fault

    monkeypatch.setattr("zlib.decompress", None)
    with pytest.raises(Fault, match="more than the maximum of 100"):
        check_picture(PNG, png_of(11, 11), 100)
    check_picture(PNG, png_of(10, 10), 100)
    check_picture(f"{JPEG}; quality=1", picture(striped(), "JPEG"), 48 * 40)


def test_models_say_what_they_are_asked_with(service):
    assert "takes rows of numbers, not pictures" in sent(service, GOOD, "rows/classify").json["error"]["message"]
    assert sent(service, GOOD, "bars/classify").json["error"]["message"] == (
        '"bars" does not answer this. Ask /v1/models/kinds/classify or /v1/models/rows/classify.'
    )
    with Running(detector()) as alone:
        message = alone.post("/v1/classify", {"rows": [[1]]}).json["error"]["message"]
    assert message.endswith("does not classify. Ask /v1/detect.")
    assert sent(service, GOOD, "kinds/detect").code == "no-detector"
    assert sent(service, GOOD, "kinds/neighbors").code == "no-index"
    assert (
        sent(service, GOOD, "kinds/classify?explain=1&label=dog")
        .json["error"]["message"]
        .startswith("There is no class dog")
    )
    for query, code in (("?label=noise", "label"), ("?explain=x", "explain"), ("?threshold=1", "parameters")):
        assert sent(service, GOOD, f"kinds/classify{query}").code == code
    for query, code in (("?threshold=a", "threshold"), ("?max_detections=0", "max_detections")):
        assert sent(service, GOOD, f"bars/detect{query}").code == code
    small = sent(service, picture(np.zeros((8, 8), np.uint8)), "bars/detect")
    assert small.status == 422
    assert "root filter needs" in small.json["error"]["message"]
    with pytest.raises(ServiceError, match="There is no model"):
        Client(service.url, model="dogs").model()


def test_an_index_of_rows_cannot_stand_beside_a_model_of_pictures():
    index = KernelIndex("chi2", random_state=0).fit(np.ones((4, 3))).add(np.ones((4, 3)))
    with pytest.raises(InputError, match="under its own name"):
        create_app(pictures_model(), index=index)
