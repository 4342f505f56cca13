"""A second attacker, of another family: boosted trees on the dense features (scikit-learn)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tellapart.attack.choices import Choices
from tellapart.attack.features import Features
from tellapart.attack.logit import centred_features
from tellapart.types import Bools, Floats, Floats32, Ints

ROUNDS, RATE = 120, 0.08


def trees_installed() -> bool:
    """Whether scikit-learn is there."""
    try:
        import sklearn.ensemble  # noqa: F401
    except ImportError:
        return False
    return True


def tree_input(features: Features, choices: Choices) -> Floats32:
    """What trees split by: how each option differs from its choice's others, and the kind.

    With three and more options the features themselves too. Of two options they would be a number
    that tells the choice from all others, and trees would learn choices by heart.
    """
    parts = [centred_features(features.dense, choices)]
    if choices.sizes.max(initial=0) > 2:
        parts.append(features.dense)
    parts.append(choices.kind[choices.choice][:, None].astype(float))
    return np.concatenate(parts, axis=1).astype(np.float32)


def fit_trees(table: Floats32, choices: Choices, use: Bools, seed: int) -> Any:
    """Trees that tell right options from wrong ones, fitted on some choices."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = use[choices.choice]
    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS, learning_rate=RATE, early_stopping=False, random_state=seed
    )
    with threadpool_limits(limits=1):  # tables are small: threads would wait for one another
        return model.fit(table[rows], choices.right[rows])


def tree_decisions(model: Any, table: Floats32) -> Floats:
    """The log-odds of rows by fitted trees."""
    with threadpool_limits(limits=1):
        decided: Floats = model.decision_function(table)
    return decided


def tree_scores(
    features: Features,
    choices: Choices,
    fold: Ints,
    seed: int = 0,
    only: Sequence[int] | None = None,
) -> Floats:
    """A score for each option, by trees that were fitted on the other folds.

    With `only` some folds are scored, and options of the others have 0.
    """
    table = tree_input(features, choices)
    scores = np.zeros(len(choices.text))
    for number in np.unique(fold).tolist() if only is None else only:
        here = fold == number
        if not here.all():
            model = fit_trees(table, choices, ~here, seed)
            rows = here[choices.choice]
            scores[rows] = tree_decisions(model, table[rows])
    return np.round(scores, 6)
