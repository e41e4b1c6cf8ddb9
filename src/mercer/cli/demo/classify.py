"""Act 2, classify: ``KernelClassifier()`` beside the usual learners as they are, and a tuned SVC, on two tasks."""

__all__ = ["Task", "classify", "digits", "run"]

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer._base.progress import track
from mercer.cli.demo.act import Act, Line, interval, milliseconds
from mercer.cli.demo.claims import best, capital, compared, faster

OURS, TUNED, WORDS = "KernelClassifier()", "SVC, tuned", "tf-idf of words, LinearSVC"
_FOLDS = 3  # of the search that tunes SVC
DIGITS, CODE = "digits", "source code"
_TO_COMPILE = 120  # rows of the fit that is not timed
_MISTAKES = 12  # drawn

SNIPPET = """from mercer import KernelClassifier

model = KernelClassifier().fit(X_train, y_train)
print(model.plan_)                       # what was tried, and what it reached on left-out rows
print(model.score(X_test, y_test))"""


@dataclass(frozen=True)
class Task:
    """Rows to learn from and rows to judge by; the texts that rows were counted in, if there are any."""

    name: str
    X: Any
    X_test: Any
    y: Any
    y_test: Any
    texts: list[str] | None = None
    texts_test: list[str] | None = None


def digits(seed: int) -> Task:
    """Handwritten digits of scikit-learn, 64 counts each: 1,000 to learn from, 797 to judge by."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    return Task(DIGITS, *train_test_split(X, y, train_size=1000, stratify=y, random_state=seed))


def _source_code(seed: int) -> Task:
    """Pieces of source code; the files that are learned from are not those that are judged by."""
    from sklearn.model_selection import GroupShuffleSplit

    from mercer.cli.demo.source_code import source_pieces

    pieces = source_pieces(seed)
    split = GroupShuffleSplit(1, test_size=0.4, random_state=seed)
    learn, judge = next(split.split(pieces.rows, pieces.labels, pieces.files))
    texts = [[pieces.texts[i] for i in part] for part in (learn, judge)]
    return Task(CODE, pieces.rows[learn], pieces.rows[judge], pieces.labels[learn], pieces.labels[judge], *texts)


def classify(seed: int) -> Act:
    """All learners on both tasks."""
    from threadpoolctl import threadpool_limits

    from mercer._base.threads import thread_limit
    from mercer.cli.demo.source_code import LENGTH, LIBRARIES

    tasks = [digits(seed), _source_code(seed)]
    with thread_limit(1), threadpool_limits(1):
        results = [run(task, _learners(seed)) for task in tasks]
    answers = {name: answers for name, (_, answers) in zip((DIGITS, CODE), results, strict=True)}
    found = {task.name: lines for task, (lines, _) in zip(tasks, results, strict=True)}
    (digit, code), libraries = tasks, ", ".join(LIBRARIES)
    settings = math.prod(len(choices) for choices in _grid().values())
    return Act(
        title="Classify",
        about=f"All learners with default parameters, on one thread; SVC also tuned by {_FOLDS}-fold cross-validation "
        f"over {settings} settings of scaling, C and gamma, which its time includes. Digits: images of "
        f"{digit.X.shape[1]} counts, {len(digit.y):,} to train on and {len(digit.y_test):,} to test on. Source code: "
        f"{LENGTH} lines as counts of {code.X.shape[1]} characters, labeled with their library ({libraries}). "
        f"{len(code.y):,} pieces to train on, {len(code.y_test):,} from other files to test on.",
        columns=("data", "learner", "accuracy", "95 % interval", "training"),
        lines=[line for lines in found.values() for line in lines],
        headline=_headline(found[CODE]),
        claims=[claim for name, lines in found.items() for claim in _claims(name, lines)],
        pictures=[_mistakes(digit, answers[DIGITS])],
        cells=_cells,
        snippet=SNIPPET,
    )


def _cells(line: Line) -> list[str]:
    low, high = interval(line)
    between = f"{100 * low:.1f} to {100 * high:.1f}"
    return [line.data, line.method, f"{100 * line.share:.1f} %", between, milliseconds(line.seconds)]


def _learners(seed: int) -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, LinearSVC

    from mercer import KernelClassifier

    return {
        OURS: lambda: KernelClassifier(random_state=seed),
        "SVC": SVC,
        "SVC, standardized": lambda: make_pipeline(StandardScaler(), SVC()),
        "LinearSVC, standardized": lambda: make_pipeline(StandardScaler(), LinearSVC(random_state=seed)),
        TUNED: lambda: GridSearchCV(Pipeline([("scaling", None), ("svc", SVC())]), _grid(), cv=_FOLDS),
        "boosted trees": lambda: HistGradientBoostingClassifier(random_state=seed),
        "random forest": lambda: RandomForestClassifier(random_state=seed),
    }


def _grid() -> dict[str, list[Any]]:
    """What SVC is tuned over."""
    from sklearn.preprocessing import StandardScaler

    gammas = ["scale", 0.001, 0.003, 0.01]
    return {"scaling": ["passthrough", StandardScaler()], "svc__C": [1, 10, 100], "svc__gamma": gammas}


def run(task: Task, learners: dict[str, Callable[[], Any]]) -> tuple[list[Line], Any]:
    """A line for each learner, and the first one's predictions for the test rows."""
    lines: list[Line] = []
    said = []
    for name, make in track(list(learners.items()), f"Classify {task.name}"):
        if not lines:
            some = slice(None, None, max(1, len(task.y) // _TO_COMPILE))
            make().fit(task.X[some], task.y[some])  # compiles what is then timed
        line, answers = _line(task.name, name, make(), task.X, task.X_test, task)
        lines.append(line)
        said.append(answers)
    if task.texts is not None:
        lines.append(_line(task.name, WORDS, _of_words(), task.texts, task.texts_test, task)[0])
    return lines, said[0]


def _line(data: str, name: str, model, rows, rows_test, task: Task) -> tuple[Line, Any]:
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a learner that would like more iterations, as it comes
        model.fit(rows, task.y)
    seconds = time.perf_counter() - started
    answers = model.predict(rows_test)
    return Line(data, name, answers == task.y_test, seconds, ours=name == OURS), answers


def _of_words():
    """What one would take who has the text and not the counts of characters alone."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(TfidfVectorizer(), LinearSVC(random_state=0))


def _headline(lines: list[Line]) -> tuple[str, str]:
    ours, rival = lines[0], best(line for line in lines[1:] if line.method != WORDS)
    said = f"accuracy on source code by character counts; the best of the others, {rival.method}, reaches"
    return f"{100 * ours.share:.0f} %", f"{said} {100 * rival.share:.0f} %"


def _claims(name: str, lines: list[Line]) -> list[str]:
    ours, others = lines[0], [line for line in lines[1:] if line.method not in (TUNED, WORDS)]
    rival = best(others)
    claims = [
        f"{capital(name)}: {compared(ours, rival, f'the best of {len(others)} others ({rival.method})')}.",
        f"It chooses its kernel and trains in {milliseconds(ours.seconds)}, "
        f"{faster(ours.seconds, rival.seconds)} {rival.method} ({milliseconds(rival.seconds)}).",
    ]
    for line in (line for line in lines if line.method == TUNED):
        claims.append(
            f"{compared(ours, line, 'a tuned SVC')}; it trains {faster(ours.seconds, line.seconds)} the grid search "
            f"({milliseconds(line.seconds)})."
        )
    for line in (line for line in lines if line.method == WORDS):
        claims.append(
            f"If you have the text and not only character counts: {compared(line, ours)}, and training is "
            f"{faster(line.seconds, ours.seconds).removesuffix(' than')}."
        )
    return claims


def _mistakes(task: Task, answers) -> tuple[str, list[tuple[str, str]]]:
    """The digits that ours gets wrong."""
    import numpy as np

    from mercer._base.html.pieces import pixels_uri

    wrong = np.flatnonzero(answers != task.y_test)
    shown = [(pixels_uri(drawn(task.X_test[i])), f"{task.y_test[i]}, read as {answers[i]}") for i in wrong]
    few = f", of which {_MISTAKES} are shown" if len(wrong) > _MISTAKES else ""
    return f"{OURS} gets {len(wrong)} of {len(answers)} digits wrong{few}", shown[:_MISTAKES]


def drawn(row):
    """The pixels of a digit, dark on light."""
    import numpy as np

    return (255 - np.clip(row, 0, 16).reshape(8, 8) * (255 / 16)).astype(np.uint8)
