"""Parameters that many estimators have."""

__all__ = ["KERNEL", "N_JOBS", "RANDOM_STATE", "VERBOSE"]

from mercer._base.parameters.language import anything, integer, text

KERNEL = text("kernel", "chi2", "What rows are compared by.", what="a kernel or its name")
RANDOM_STATE = anything("random_state", None, "Seed of everything random.", "an integer, a RandomState, or None")
N_JOBS = integer("n_jobs", None, "Threads; None takes every core, or those of thread_limit, and -1 every core.")
VERBOSE = anything("verbose", 0, "Above 0, show progress on the standard error.", "an integer")
