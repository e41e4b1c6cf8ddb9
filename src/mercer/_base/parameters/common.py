"""Parameters that many estimators have."""

__all__ = ["KERNEL", "N_JOBS", "RANDOM_STATE", "VERBOSE"]

from mercer._base.parameters.language import anything, integer, text

KERNEL = text("kernel", "chi2", "Kernel that compares rows.", what="a kernel or its name")
RANDOM_STATE = anything("random_state", None, "Seed of the random number generator; set an integer to get the same "
    "result in every run.", "an integer, a RandomState, or None")  # fmt: skip
N_JOBS = integer("n_jobs", None, "Number of threads. None uses all cores, or the number set by thread_limit; -1 always "
    "uses all cores.")  # fmt: skip
VERBOSE = anything("verbose", 0, "Show progress on standard error if greater than 0.", "an integer")
