"""The report of a training as one page of HTML that needs nothing beside it, neither files nor scripts."""

__all__ = ["Circumstances", "write_page"]

from dataclasses import dataclass
from pathlib import Path

from mercer import __version__
from mercer._base.evaluation.intervals import wilson_interval
from mercer._base.html.page import document
from mercer._base.html.pieces import bar, escape, figure, image, percent, section, table
from mercer._base.html.pieces import cards as card_boxes
from mercer._base.progress import took
from mercer._base.tables import open_for_writing
from mercer.kernels import get_kernel
from mercer.vision.reporting.figures import accuracy_against_C, confusion_figure, explanation_figure, thumbnail

_MISTAKES = 24  # shown, the most confident first
_EXPLAINED = 2  # images whose explanations are shown
_SKIPPED = 200  # named
_STYLE = """
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(148px, 1fr)); gap: 14px; margin-top: 12px; }
.mistakes div { border: 1px solid var(--line); border-radius: 8px; overflow: hidden; background: var(--box); }
.mistakes img { width: 100%; height: 108px; object-fit: cover; display: block; background: var(--faint); }
.mistakes p { margin: 6px 10px 8px; font-size: 13px; line-height: 1.35; overflow-wrap: anywhere; }
.was { color: var(--soft); } .said { color: var(--orange); font-weight: 600; }
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
        section("The command", "", f"<pre>{escape(about.command)}</pre>"),
    ]
    title = f"Images of {_name(about.folder)}"
    with open_for_writing(page) as stream:
        stream.write(document(title, parts, __version__, _STYLE))


# ------------------------------------------------------------------------------------------------------ what was found


def _head(found, about: Circumstances) -> str:
    n_kept, n_classes = int(found.encoding.kept.sum()), len(found.model.classes_)
    kernel = get_kernel(found.model.classifier_.kernel).name
    return (
        f"<h1>Images of {escape(_name(about.folder))}</h1>\n"
        f'<p class="soft">A classifier of {n_classes} classes, learned from {n_kept:,} images: '
        f"{escape(type(found.model.encoder_).__name__)} and the {escape(kernel)} kernel.</p>\n"
    )


def _cards(found, about: Circumstances) -> str:
    cards = []
    if found.figures:
        accuracy, n = found.figures["accuracy"], len(found.predicted)
        low, high = wilson_interval(accuracy, n)
        cards.append((percent(accuracy), f"accuracy; {percent(low)} to {percent(high)} with 95 % confidence"))
        cards.append((f"{found.figures['map']:.3f}", "mean average precision"))
    cards += [
        (f"{int(found.encoding.kept.sum()):,}", f"images of {len(found.model.classes_)} classes"),
        (took(sum(found.seconds.values())), "training and evaluation"),
        (_size(about.model_bytes), "model file"),
    ]
    return f"{card_boxes(cards)}{_how_judged(found)}"


def _how_judged(found) -> str:
    if not found.figures:
        return '<p class="soft small">A class has a single image, so no image could be held out for evaluation.</p>\n'
    said = (
        f"Figures are from {found.n_folds}-fold cross-validation: every image is classified by a classifier trained "
        "without it. The words are learned from all images, without their classes"
    )
    if found.model.reduce is not None and found.model.reduce_method == "supervised":
        said += ", but merged using the classes of all images, which makes the figures optimistic"
    elif found.model.reduce is not None and found.model.reduce_method == "auto":
        said += ", but the classes of all images decided between merging and selecting, which may make them optimistic"
    elif hasattr(found.model.classifier_, "C_"):
        said += ", and C was chosen on the same folds, which makes the figures slightly optimistic"
    return f'<p class="soft small">{said}. Use mercer images evaluate to measure the model on unseen images.</p>\n'


def _classes(found, about: Circumstances) -> str:
    rows = []
    lines = {str(line["label"]): line for line in found.figures.get("classes", [])}
    for name in found.model.classes_.tolist():
        of_class = [path for path, label in zip(found.images, found.labels.tolist(), strict=True) if label == name]
        kept = int(((found.labels == name) & found.encoding.kept).sum())
        line = lines.get(str(name))
        cells = [image(_first_thumbnail(of_class), f"an image of {name}"), escape(name), f"{kept:,}"]
        if line is not None:
            other, times = found.confused_with(name)
            numbers = [bar(line["recall"]), percent(line["precision"]), percent(line["ap"])]
            cells += [*numbers, escape(f"{other} ({times})") if times else "–"]
        rows.append(cells)
    titles = ["", "class", "images"]
    if lines:
        titles += ["recall", "precision", "average precision", "most often confused with"]
    text = f"{len(found.images):,} files in {escape(about.folder)}."
    return section("Classes", text, table(titles, rows, left={0, 1, 6}))


def _confusion(found) -> str:
    import numpy as np

    if not found.figures:
        return ""
    names = [str(line["label"]) for line in found.figures["classes"]]
    picture = confusion_figure(np.array(found.figures["confusion"]), names)
    text = "Number of images by true class (rows) and predicted class (columns)."
    return section("Confusion matrix", text, figure(picture, "confusion matrix", 820))


def _mistakes(found) -> str:
    if not found.figures:
        return ""
    truth, wrong, paths = found.truth, found.mistakes(), found.kept_images
    if not len(wrong):
        return section("Mistakes", "There are none.", "")
    shown = wrong[:_MISTAKES]
    boxes = []
    for i in shown.tolist():
        picture = image(thumbnail(paths[i]), f"{truth[i]}, predicted as {found.predicted[i]}")
        verdict = (
            f'<span class="was">{escape(truth[i])}</span> → <span class="said">{escape(found.predicted[i])}</span>'
        )
        boxes.append(f"<div>{picture}<p>{verdict}<br><span class='soft'>{escape(paths[i].name)}</span></p></div>")
    text = f"{len(wrong):,} of {len(truth):,} images" + (
        f"; the {len(shown)} that the classifier was most confident about." if len(shown) < len(wrong) else "."
    )
    return section("Mistakes", text, f'<div class="mistakes">{"".join(boxes)}</div>')


def _explanations(found) -> str:
    if not found.figures:
        return ""
    truth, paths = found.truth, found.kept_images
    figures = []
    for i in found.surest(_EXPLAINED):
        explanation = found.model.explain(paths[i], truth[i])
        figures.append(figure(explanation_figure(explanation), f"evidence for {truth[i]}"))
    if not figures:
        return ""
    how = (
        "Blue patches increase the score of the class and orange patches decrease it; with a constant, they add up "
        "to the score."
        if explanation.measure == "additive"
        else "Removing a blue part of the image lowers the score, and removing an orange part raises it."
    )
    text = f"{how} Both images are training images; use mercer images explain for any other image."
    return section("Explanations", text, "".join(figures))


# ------------------------------------------------------------------------------------------------------ how it was made


def _plan(found) -> str:
    model = found.model
    encoder, plan = model.encoder_, model.classifier_.plan_
    facts = {
        "descriptors": repr(encoder.descriptor_),
        "words": f"{_words(model)}, learned from {_samples(model.encoder)}",
        "pyramid": ", ".join(f"{rows} x {columns}" for rows, columns in encoder.pyramid),
        "row of an image": f"{encoder._n_features_out:,} numbers",
    }
    if model.reduction_ is not None:
        error = model.reduction_.error_
        facts["reduction"] = f"words merged into {model.reduction_.n_dims_:,} columns; error of the kernel {error:.3f}"
    learner = [line.split(maxsplit=1) for line in str(plan).splitlines()[1:]]
    facts |= {line[0]: line[1] for line in learner if len(line) == 2}
    facts["C"] = f"{getattr(model.classifier_, 'C_', None) or model.classifier_.C:.4g}"
    pairs = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return section("The plan", "From pixels to classes.", f"<dl>{pairs}</dl>")


def _choice_of_C(found) -> str:
    learner = found.model.classifier_
    if not hasattr(learner, "Cs_") or len(learner.Cs_) < 2:
        return ""
    picture = accuracy_against_C(learner.Cs_, learner.scores_, learner.C_)
    text = "Mean accuracy over the cross-validation folds, with the range of the folds, against C."
    return section("The choice of C", text, figure(picture, "accuracy against C", 680))


def _costs(found, about: Circumstances) -> str:
    total = sum(found.seconds.values())
    rows = [[escape(name), took(seconds), bar(seconds / total)] for name, seconds in found.seconds.items()]
    rows.append(["<b>all</b>", f"<b>{took(total)}</b>", ""])
    memory = f"At most {_size(about.peak_bytes)} of memory. " if about.peak_bytes else ""
    return section(
        "Time and memory", f"{memory}The model file has {_size(about.model_bytes)}.",
        table(["step", "time", "share"], rows, left={0}),
    )  # fmt: skip


def _skipped(found) -> str:
    reasons = list(found.model.skipped_.values())
    if not reasons:
        return section("Skipped files", "None. All images could be read.", "")
    items = "".join(f"<li>{escape(reason)}</li>" for reason in reasons[:_SKIPPED])
    more = f"<p class='soft'>And {len(reasons) - _SKIPPED:,} more.</p>" if len(reasons) > _SKIPPED else ""
    text = f"{len(reasons):,} of {len(found.images):,} files. They were not used for training."
    return section("Skipped files", text, f"<ul class='small'>{items}</ul>{more}")


# ------------------------------------------------------------------------------------------------------ small pieces


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB" if n_bytes >= 10 * 2**20 else f"{n_bytes / 2**20:.2g} MiB"


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
