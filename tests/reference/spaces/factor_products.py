"""Plain twins of mercer._native.spaces.factor_products: the factors unpacked, one block after the other."""


def score_coded(codes, words, flat, ranks, offsets, rank_starts, u, first, last, tables, out):
    for m in range(first, last):
        Z = factor(words, flat, ranks, offsets, m)
        for g in range(len(u)):
            out[g] += (Z.T @ u[g, rank_starts[m] : rank_starts[m + 1]])[codes[m]]


def accumulate_coded(codes, words, flat, ranks, offsets, rank_starts, r, first, last, histograms, out):
    for m in range(first, last):
        Z = factor(words, flat, ranks, offsets, m)
        own = slice(rank_starts[m] - rank_starts[first], rank_starts[m + 1] - rank_starts[first])
        for g in range(len(r)):
            for i, word in enumerate(codes[m]):
                out[g, own] += Z[:, [word]] * r[g, i]


def factor(words, flat, ranks, offsets, m):
    """Z_m, shape (rank, words)."""
    return flat[offsets[m] :][: words[m] * ranks[m]].reshape(words[m], ranks[m]).T
