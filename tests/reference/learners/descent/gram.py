"""Twins of `mercer._native.learners.descent.gram`: every step tries all pairs from the formulas, in numpy."""

import numpy as np

FLAT = 1e-9


def slopes_of(scores, goals, bends, h, b, g, slopes):
    g[:] = scores - goals + bends * b
    slopes[:] = -g / np.sqrt(h)


def choose_rows(slopes, lower, upper, b, before, size, out):
    rising, falling = np.where(b < upper, slopes, -np.inf), np.where(b > lower, -slopes, -np.inf)
    largest = max(rising.max(), falling.max())
    if largest <= 0:
        return 0
    chosen = set()
    for values in (rising, falling):
        order = np.argsort(-values, kind="stable")[: size // 4]
        chosen |= {int(i) for i in order if values[i] >= -largest}
    free = (lower < b) & (b < upper)
    kept = sorted((0.0 if free[i] else abs(slopes[i]), int(i)) for i in before if int(i) not in chosen)
    rows = sorted(chosen | {i for _, i in kept[: size - len(chosen)]})
    out[: len(rows)] = rows
    return len(rows)


def descend_gram(K, constant, bends, h, lower, upper, share, most, b, g, gains):
    Q = K.astype(np.float64) + constant
    least = 0.0
    for steps in range(most):
        alone_step = np.clip(b - g / h, lower, upper) - b
        gains[:] = -(g + h * alone_step / 2) * alone_step
        least = share * gains.mean() if steps == 0 else least
        i = int(np.argmax(gains))
        alone = gains[i]
        if not alone > least:
            return steps
        k = Q[i]
        determinant = np.maximum(h[i] * h - k * k, FLAT * h[i] * h)
        step_i = np.clip(b[i] + (g * k - g[i] * h) / determinant, lower[i], upper[i]) - b[i]
        step = np.clip(b - (g + k * step_i) / h, lower, upper) - b
        step_i = np.clip(b[i] - (g[i] + k * step) / h[i], lower[i], upper[i]) - b[i]
        gains[:] = -(g[i] * step_i + g * step + h[i] * step_i**2 / 2 + h * step**2 / 2 + k * step_i * step)
        gains[i] = alone
        j = int(np.argmax(gains))
        change = np.zeros(len(b))
        if i == j:
            change[i] = np.clip(b[i] - g[i] / h[i], lower[i], upper[i]) - b[i]
        else:
            change[i], change[j] = step_i[j], step[j]
        b += change
        g += Q @ change + bends * change
    return most


def add_rows(K, rows, steps, first, out):
    out += steps @ K[rows, first : first + len(out)].astype(np.float64)


def gather(K, places, columns, out):
    out[:] = K[places[:, None], columns]
