"""The report of a training as one page of HTML that needs nothing beside it, neither files nor scripts."""

__all__ = ["Circumstances", "write_page"]

import html
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mercer import __version__
from mercer._base.evaluation.intervals import wilson_interval
from mercer._base.tables import open_for_writing
from mercer.kernels import get_kernel
from mercer.vision.reporting.figures import accuracy_against_C, confusion_figure, explanation_figure, thumbnail

_MISTAKES = 24  # shown, the most confident first
_EXPLAINED = 2  # images whose explanations are shown
_SKIPPED = 200  # named
_STYLE = """
:root { --ink: #1d2733; --soft: #5d6b7a; --line: #e3e8ee; --blue: #0072b2; --orange: #d55e00; --paper: #f6f8fa; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  color: var(--ink); background: var(--paper); }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 19px; margin: 0 0 4px; }
p { margin: 4px 0 12px; } .soft { color: var(--soft); } .small { font-size: 13px; }
section { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px; margin: 18px 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 22px 0 4px; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.card b { display: block; font-size: 25px; line-height: 1.2; font-weight: 650; }
.card:first-child { background: var(--blue); border-color: var(--blue); color: #fff; }
.card:first-child .soft { color: #d7ebf7; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); font-size: 13px; padding: 6px 10px;
  border-bottom: 1px solid var(--line); }
td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th.t, td.t { text-align: left; } td img { height: 40px; width: 56px; object-fit: cover; border-radius: 4px;
  display: block; }
.bar { display: inline-block; width: 96px; height: 9px; background: #e8edf2; border-radius: 5px; margin-right: 9px;
  overflow: hidden; vertical-align: 1px; }
.bar + span { display: inline-block; min-width: 58px; }
.bar i { display: block; height: 100%; background: var(--blue); border-radius: 5px; }
figure { margin: 8px 0 0; } figure img { max-width: 100%; height: auto; display: block; margin: 0 auto; }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(148px, 1fr)); gap: 14px; margin-top: 12px; }
.mistakes div { border: 1px solid var(--line); border-radius: 8px; overflow: hidden; background: #fff; }
.mistakes img { width: 100%; height: 108px; object-fit: cover; display: block; background: #eef1f4; }
.mistakes p { margin: 6px 10px 8px; font-size: 13px; line-height: 1.35; overflow-wrap: anywhere; }
.was { color: var(--soft); } .said { color: var(--orange); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 10px 0 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: #f1f4f7; border-radius: 8px; padding: 12px 14px; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: 8px 0 0; font-size: 13px; }
ul { margin: 8px 0 0; padding-left: 20px; } li { overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: 13px; margin-top: 26px; }
@media print { body { background: #fff; } section, .card { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Circumstances:
    """What a page tells besides the report: where images came from, what was said, how much room it took."""

    folder: str
    command: str
    model_bytes: int
    peak_bytes: int


def write_page(found, page: Path, about: Circumstances) -> None:
    """Write the report of a training whose images are paths to a file."""
    parts = [
        _head(found, about),
        _cards(found, about),
        _classes(found, about),
        _confusion(found),
        _mistakes(found),
        _explanations(found),
        _plan(found),
        _choice_of_C(found),
        _costs(found, about),
        _skipped(found),
        _section("The command", "", f"<pre>{_text(about.command)}</pre>"),
    ]
    title = _text(f"Images of {_name(about.folder)}")
    document = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{''.join(parts)}"
        f"<footer>Mercer {__version__}, {datetime.now().astimezone():%d %B %Y, %H:%M %Z}</footer>\n"
        "</main>\n</body>\n</html>\n"
    )
    with open_for_writing(page) as stream:
        stream.write(document.encode("utf-8", "replace"))


# ------------------------------------------------------------------------------------------------------ what was found


def _head(found, about: Circumstances) -> str:
    n_kept, n_classes = int(found.encoding.kept.sum()), len(found.model.classes_)
    kernel = get_kernel(found.model.classifier_.kernel).name
    return (
        f"<h1>Images of {_text(_name(about.folder))}</h1>\n"
        f'<p class="soft">A classifier of {n_classes} classes, learnt from {n_kept:,} images: '
        f"{_text(type(found.model.encoder_).__name__)} and the {_text(kernel)} kernel.</p>\n"
    )


def _cards(found, about: Circumstances) -> str:
    cards = []
    if found.figures:
        accuracy, n = found.figures["accuracy"], len(found.predicted)
        low, high = wilson_interval(accuracy, n)
        cards.append((_percent(accuracy), f"accuracy; {_percent(low)} to {_percent(high)} with 95 % confidence"))
        cards.append((f"{found.figures['map']:.3f}", "mean average precision"))
    cards += [
        (f"{int(found.encoding.kept.sum()):,}", f"images of {len(found.model.classes_)} classes"),
        (took(sum(found.seconds.values())), "to train and to judge"),
        (_size(about.model_bytes), "the model file"),
    ]
    boxes = "".join(
        f'<div class="card"><b>{value}</b><span class="soft small">{text}</span></div>' for value, text in cards
    )
    return f'<div class="cards">{boxes}</div>\n{_how_judged(found)}'


def _how_judged(found) -> str:
    if not found.figures:
        return '<p class="soft small">A class has a single image, so nothing could be kept aside to judge by.</p>\n'
    said = (
        f"Figures are by {found.n_folds}-fold cross-validation: every image is classified by a classifier that was "
        "learnt without it. The words are learnt from all images, without their classes"
    )
    if found.model.reduce is not None and found.model.reduce_method == "supervised":
        said += ", but merged by the classes of all of them, which flatters the figures"
    elif hasattr(found.model.classifier_, "C_"):
        said += ", and C was chosen on the same parts, which flatters the figures a little"
    return f'<p class="soft small">{said}. mercer images evaluate judges by images that were never seen.</p>\n'


def _classes(found, about: Circumstances) -> str:
    rows = []
    lines = {str(line["label"]): line for line in found.figures.get("classes", [])}
    for name in found.model.classes_.tolist():
        of_class = [path for path, label in zip(found.images, found.labels.tolist(), strict=True) if label == name]
        kept = int(((found.labels == name) & found.encoding.kept).sum())
        line = lines.get(str(name))
        cells = [_image(_first_thumbnail(of_class), f"an image of {name}"), _text(name), f"{kept:,}"]
        if line is not None:
            other, times = found.confused_with(name)
            numbers = [_bar(line["recall"]), _percent(line["precision"]), _percent(line["ap"])]
            cells += [*numbers, _text(f"{other} ({times})") if times else "–"]
        rows.append(cells)
    titles = ["", "class", "images"]
    if lines:
        titles += ["recall", "precision", "average precision", "most often taken for"]
    table = _table(titles, rows, left={0, 1, 6})
    return _section("Classes", f"{len(found.images):,} files in {_text(about.folder)}.", table)


def _confusion(found) -> str:
    import numpy as np

    if not found.figures:
        return ""
    names = [str(line["label"]) for line in found.figures["classes"]]
    picture = confusion_figure(np.array(found.figures["confusion"]), names)
    text = "Counts of images by their true class (rows) and the class they were given (columns)."
    return _section("What is taken for what", text, _figure(picture, "confusion matrix", 820))


def _mistakes(found) -> str:
    if not found.figures:
        return ""
    truth, wrong, paths = found.truth, found.mistakes(), found.kept_images
    if not len(wrong):
        return _section("Mistakes", "There are none.", "")
    shown = wrong[:_MISTAKES]
    boxes = []
    for i in shown.tolist():
        picture = _image(thumbnail(paths[i]), f"{truth[i]}, taken for {found.predicted[i]}")
        verdict = f'<span class="was">{_text(truth[i])}</span> → <span class="said">{_text(found.predicted[i])}</span>'
        boxes.append(f"<div>{picture}<p>{verdict}<br><span class='soft'>{_text(paths[i].name)}</span></p></div>")
    text = f"{len(wrong):,} of {len(truth):,} images" + (
        f"; the {len(shown)} that the classifier was most sure of." if len(shown) < len(wrong) else "."
    )
    return _section("Mistakes", text, f'<div class="mistakes">{"".join(boxes)}</div>')


def _explanations(found) -> str:
    if not found.figures:
        return ""
    truth, paths = found.truth, found.kept_images
    figures = []
    for i in found.surest(_EXPLAINED):
        explanation = found.model.explain(paths[i], truth[i])
        figures.append(_figure(explanation_figure(explanation), f"what speaks for {truth[i]}"))
    if not figures:
        return ""
    how = (
        "Blue patches add to the score of the class, orange ones take from it; together with a constant they are it."
        if explanation.measure == "additive"
        else "The score falls without the blue parts of the image, and rises without the orange ones."
    )
    text = f"{how} The images are two that the model has learnt from; mercer images explain draws this for any image."
    return _section("What it looks at", text, "".join(figures))


# ------------------------------------------------------------------------------------------------------ how it was made


def _plan(found) -> str:
    model = found.model
    encoder, plan = model.encoder_, model.classifier_.plan_
    facts = {
        "descriptors": repr(encoder.descriptor_),
        "words": f"{_words(model)}, learnt from {_samples(model.encoder)}",
        "pyramid": ", ".join(f"{rows} x {columns}" for rows, columns in encoder.pyramid),
        "row of an image": f"{encoder._n_features_out:,} numbers",
    }
    if model.reduction_ is not None:
        error = model.reduction_.error_
        facts["reduction"] = f"words merged to {model.reduction_.n_dims_:,} columns; error of the kernel {error:.3f}"
    learner = [line.split(maxsplit=1) for line in str(plan).splitlines()[1:]]
    facts |= {line[0]: line[1] for line in learner if len(line) == 2}
    facts["C"] = f"{getattr(model.classifier_, 'C_', None) or model.classifier_.C:.4g}"
    pairs = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts.items())
    return _section("The plan", "From pixels to classes.", f"<dl>{pairs}</dl>")


def _choice_of_C(found) -> str:
    learner = found.model.classifier_
    if not hasattr(learner, "Cs_") or len(learner.Cs_) < 2:
        return ""
    picture = accuracy_against_C(learner.Cs_, learner.scores_, learner.C_)
    text = "Mean accuracy over the parts of the cross-validation, and the range of the parts, against the weight C."
    return _section("The choice of C", text, _figure(picture, "accuracy against C", 680))


def _costs(found, about: Circumstances) -> str:
    total = sum(found.seconds.values())
    rows = [[_text(name), took(seconds), _bar(seconds / total)] for name, seconds in found.seconds.items()]
    rows.append(["<b>all</b>", f"<b>{took(total)}</b>", ""])
    memory = f"At most {_size(about.peak_bytes)} of memory. " if about.peak_bytes else ""
    return _section(
        "Time and memory", f"{memory}The model file has {_size(about.model_bytes)}.",
        _table(["step", "time", "share"], rows, left={0}),
    )  # fmt: skip


def _skipped(found) -> str:
    reasons = list(found.model.skipped_.values())
    if not reasons:
        return _section("Skipped files", "None: every image could be read.", "")
    items = "".join(f"<li>{_text(reason)}</li>" for reason in reasons[:_SKIPPED])
    more = f"<p class='soft'>And {len(reasons) - _SKIPPED:,} more.</p>" if len(reasons) > _SKIPPED else ""
    text = f"{len(reasons):,} of {len(found.images):,} files. Nothing was learnt from them."
    return _section("Skipped files", text, f"<ul class='small'>{items}</ul>{more}")


# ------------------------------------------------------------------------------------------------------ small pieces


def _section(title: str, text: str, content: str) -> str:
    said = f'<p class="soft small">{text}</p>' if text else ""
    return f"<section>\n<h2>{title}</h2>\n{said}{content}\n</section>\n"


def _table(titles: list[str], rows: list[list[str]], left: set[int]) -> str:
    def line(cells: list[str], tag: str) -> str:
        made = (f"<{tag}{' class=t' if i in left else ''}>{cell}</{tag}>" for i, cell in enumerate(cells))
        return f"<tr>{''.join(made)}</tr>"

    lines = "".join(line(row, "td") for row in rows)
    return f'<div class="wide"><table>{line(titles, "th")}{lines}</table></div>'


def _figure(picture: str, text: str, widest: int = 1030) -> str:
    return f'<figure><img src="{picture}" alt="{_text(text)}" style="width:{widest}px"></figure>'


def _image(picture: str | None, text: str) -> str:
    return "" if picture is None else f'<img src="{picture}" alt="{_text(text)}">'


def _bar(share: float | None) -> str:
    if share is None:
        return "–"
    return f'<span class="bar"><i style="width:{100 * share:.1f}%"></i></span><span>{_percent(share)}</span>'


def took(seconds: float) -> str:
    """Seconds in words."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB" if n_bytes >= 10 * 2**20 else f"{n_bytes / 2**20:.2g} MiB"


def _text(value: Any) -> str:
    return html.escape(str(value))


def _name(folder: str) -> str:
    return Path(folder).resolve().name or folder


def _first_thumbnail(paths) -> str | None:
    return next((picture for picture in map(thumbnail, paths) if picture is not None), None)


def _words(model) -> str:
    learnt, left = model.encoder.n_words, model.encoder_.n_words
    return f"{left:,}" if left == learnt else f"{left:,}, selected from {learnt:,}"


def _samples(encoder) -> str:
    wanted = encoder.n_samples or encoder.default_samples()
    return f"at most {wanted:,} patches of all images"
