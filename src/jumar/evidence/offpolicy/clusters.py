"""Episodes of one person, plant or machine taken together: the cluster is what is independent.

Cluster k of K has m_k episodes whose values x_i depend on each other in whatever way; the pairs
(Σ x_i, m_k) are independent and of one kind. Two means can be asked for:

    over episodes   Σ_k Σ_{i in k} x_i / Σ_k m_k      of an episode drawn from all episodes
    over clusters   (1/K) Σ_k (Σ_{i in k} x_i / m_k)  of an episode of a cluster drawn from all

They are the same when all clusters have the same size. The first is a ratio of two means when sizes
differ: how cluster k pulls at it is K (Σ x_i - x̄ m_k) / Σ m_k (the delta method), and a bootstrap
draws whole clusters. Both are right as K grows, and only then.

The second is a mean of K independent values at every size. Each of them lies between the least and
the greatest value that one episode can have, as a mean of such values does. So what is proved for
means of independent values in a range is proved for it with K in place of the number of episodes,
however much the episodes of a cluster depend on each other. Intervals that are proved use it.

The weighted estimators are ratios already. At step t a cluster is one episode with the weight
Σ_i w_it, episodes that are over keeping their last one, and with the weighted mean of x_it.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.evidence.offpolicy.estimators import Weighted


def cluster_means(values: Floats, of: Ints) -> Floats:
    """(K,) the mean of the values of each cluster.

    >>> cluster_means(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [2.0, 5.0]
    """
    K = int(of.max()) + 1
    return sum_by(of, values, K) / np.bincount(of, minlength=K)


def by_cluster(values: Floats | Weighted, of: Ints) -> Floats | Weighted:
    """One value per cluster whose mean, or ratio of means, is that over episodes.

    >>> alike = by_cluster(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 0, 1, 1]))
    >>> alike.tolist()
    [2.0, 5.0]
    >>> by_cluster(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).value
    3.0
    """
    if isinstance(values, Weighted):
        return _together(values, of)
    size = np.bincount(of).astype(np.float64)
    if (size == size[0]).all():
        return cluster_means(values, of)
    K, nothing = len(size), np.zeros(len(size))
    return Weighted(nothing, nothing, np.arange(K + 1), sum_by(of, values, K), 1.0, size)


def _together(values: Weighted, of: Ints) -> Weighted:
    from jumar.core import kernels

    size = np.bincount(of)
    K = len(size)
    longest = np.zeros(K, np.int64)
    np.maximum.at(longest, of, np.diff(values.start))
    start = np.concatenate([[0], np.cumsum(longest)])
    weight, total = kernels.together(values.weight, values.x, values.start, of, start)
    x = np.divide(total, weight, out=np.zeros(len(total)), where=weight > 0)
    sizes = values.sizes
    return Weighted(
        weight, x, start, sum_by(of, values.offset, K), values.discount, sum_by(of, sizes, K)
    )
