"""Rows on many workers in groups: which chunks make one, which go together, and sums that do not depend on that.

A *group* is a number of consecutive chunks, decided by sizes alone: sums over rows are sums over groups, in one order.
A *bundle* is what one task works on: the groups that a thread of a worker has. How many bundles there are, and which
groups they have, depends on the cluster; the sums do not, since groups are added along a tree that is fixed:

    node (0, i) = group i,        node (l + 1, i) = node (l, 2i) + node (l, 2i + 1)

A bundle adds up the nodes whose groups it has all, and others go on from there.
"""

__all__ = ["bundles_of", "groups_of", "merged", "row_groups"]

import numpy as np

GROUP_ROWS, GROUP_BYTES = (
    2**16,
    2**24,
)  # chunks are joined up to here: handing over a small one costs more than its work


def groups_of(parts, row_bytes):
    """Numbers of consecutive chunks that are joined.

    Parameters
    ----------
    parts : slices of the rows, one for each chunk
    row_bytes : of an encoded row
    """
    most = max(1, min(GROUP_ROWS, int(GROUP_BYTES / row_bytes)))
    groups, size = [[]], 0
    for i, part in enumerate(parts):
        n = part.stop - part.start
        if groups[-1] and size + n > most:
            groups.append([])
            size = 0
        groups[-1].append(i)
        size += n
    return groups


def row_groups(parts, row_bytes):
    """(groups, slices of their rows) as of :func:`groups_of`."""
    groups = groups_of(parts, row_bytes)
    return groups, [slice(parts[group[0]].start, parts[group[-1]].stop) for group in groups]


def bundles_of(sizes, owners, threads):
    """[(worker, numbers of groups)], about as many rows for each thread; a group moves only where that evens it out.

    Parameters
    ----------
    sizes : rows of each group
    owners : the worker that has each group
    threads : {worker: its threads}
    """
    owned = {worker: [] for worker in threads}
    for group, worker in enumerate(owners):
        owned[worker].append(group)

    def load(worker, more=0):
        return (sum(sizes[group] for group in owned[worker]) + more) / threads[worker]

    for _ in sizes:
        loads = {worker: load(worker) for worker in threads}
        most, least = max(loads, key=loads.get), min(loads, key=loads.get)
        moved = min(owned[most], key=sizes.__getitem__, default=None)
        if moved is None or load(least, sizes[moved]) >= loads[most]:
            break
        owned[most].remove(moved)
        owned[least].append(moved)
    found = []
    for worker, groups in owned.items():
        groups.sort()
        parts = np.array_split(np.array(groups, dtype=np.int64), min(threads[worker], max(1, len(groups))))
        found += [(worker, part.tolist()) for part in parts if len(part)]
    return found


def merged(nodes, n_groups, add):
    """The nodes of the tree that are left when everything is added that can be: {(level, i): sum}.

    Parameters
    ----------
    nodes : {(level, i): sum}
    n_groups : groups in all
    add : function of two sums, the left one first
    """
    nodes, level, count = dict(nodes), 0, n_groups
    while count > 1:
        for i in sorted(i for at, i in nodes if at == level and i % 2 == 0):
            left, right = (level, i), (level, i + 1)
            if right in nodes:
                nodes[level + 1, i // 2] = add(nodes.pop(left), nodes.pop(right))
            elif i + 1 == count:  # the last of an odd number goes up alone
                nodes[level + 1, i // 2] = nodes.pop(left)
        level, count = level + 1, -(-count // 2)
    return nodes
