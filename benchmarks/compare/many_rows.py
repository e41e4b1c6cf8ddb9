"""KernelClassifier() as it comes on 500,000 rows: accuracy, minutes and memory, and what other sizes and budgets do."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ROWS = 500_000
ACCURACY = "covtype, 500,000 rows: accuracy of KernelClassifier()"
MINUTES = "covtype, 500,000 rows: minutes of its fit"
MEMORY = "covtype, 500,000 rows: gigabytes at the peak of its fit"
BUDGET = "covtype, 100,000 rows: seconds of a fit / its budget of 60 s"
SMALLER = (20_000, 50_000, 100_000)
SECONDS = 60.0


@benchmark(
    "many-rows",
    "KernelClassifier() without arguments on all training rows of covtype, and on fewer",
    bars=[
        Bar(ACCURACY, ">= 87", "%"),
        Bar(MINUTES, "<= 10", "min"),
        Bar(MEMORY, "<= 6", "GB"),
        Bar(BUDGET, "<= 1.2", "x"),
    ],
    needs=["covtype"],
    threads=2,
)
def many_rows(record):
    from benchmarks.compare._peers import measure

    sizes = [2000] if record.quick else [*SMALLER, ROWS]
    lines = []
    for n, budget in [*((size, None) for size in sizes), (sizes[-1] if record.quick else 100_000, SECONDS)]:
        found = measure(fit_and_judge, "scikit-learn", n, budget, threads=record.threads)
        if found.problem is not None:
            record.note(f"{n} rows: {found.problem}")
            continue
        accuracy, fit, predict, machine, compared = found.answers
        gigabytes = found.megabytes / 1e3
        lines.append(
            [n, "none" if budget is None else f"{budget:g} s", accuracy, fit, predict, gigabytes, machine, compared]
        )
        if budget is not None:
            record.measured(BUDGET, fit / budget, f"{fit:.3g} s")
        elif n == sizes[-1]:
            record.measured(ACCURACY, accuracy)
            record.measured(MINUTES, fit / 60, f"{fit:.4g} s")
            record.measured(MEMORY, gigabytes)
    columns = ["rows", "budget", "accuracy %", "fit, s", "predict, s", "GB", "machine", "compared on left-out rows"]
    record.table("fits", columns, lines)
    record.note(
        "The first rows of one fixed shuffle, raw values in float32; all 81,012 test rows. Times are those of a clock, "
        "with everything compiled before; memory is what a fit takes beyond the rows that it is given."
    )


def fit_and_judge(parts, n, budget):
    """A job: (accuracy in percent, seconds of the fit and of the prediction, the machine, what it competed with)."""
    import time

    from mercer import KernelClassifier, datasets

    X, y = datasets.load_covtype()
    X_test, y_test = datasets.load_covtype("test")
    KernelClassifier(random_state=0).fit(X[:2000], y[:2000])  # what is compiled is compiled before
    X, y = X[:n].copy(), y[:n].copy()
    model = KernelClassifier(random_state=0, budget=budget)
    begun = time.perf_counter()
    with parts.part("fit"):
        model.fit(X, y)
    learned = time.perf_counter()
    with parts.part("predict"):
        accuracy = 100 * model.score(X_test, y_test)
    plan = model.plan_
    machine = f"{plan.cells} cells of {plan.landmarks} rows" if plan.cells else f"{plan.landmarks} landmarks"
    compared = "; ".join(f"{row[0]} {100 * row[2]:.4g} %" for row in plan.rivals)
    return accuracy, learned - begun, time.perf_counter() - learned, f"{plan.kernel}, {machine}", compared
