"""The ``mercer`` command: one file per verb, options as tables above the verbs, what verbs share in ``framework``.

Nothing heavy (numpy, scikit-learn, numba, matplotlib) is imported before a verb needs it.
"""
