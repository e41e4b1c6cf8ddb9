"""The ``mercer`` command: one file per verb, options shared by all of them in ``options.py``.

Nothing heavy (numpy, scikit-learn, numba, matplotlib) is imported before a verb needs it.
"""
