"""Measurements of Mercer: speed, published results, rivals, maps. Run with ``python -m benchmarks``.

registry     what benchmarks exist; reading it imports nothing heavy
runner       times several sides alternately in one process
memory       peak memory of one call
checks       a fast side that is wrong is caught
environment  versions, processor, threads, load
code         which modules a benchmark measures, and one hash of them
record       what a benchmark writes down while it runs
state        what a stored result is worth today: of which code, processor and day
campaign     every record anew, of one commit on one idle machine
report       JSON results to markdown
published    tables and figures of the papers: what exists
sheet        one of them, with our numbers beside it
verdicts     claims of a paper: held, not held or open
stored       how a sheet reads the results of benchmarks
reproduce    measures what sheets need, and writes the page of all of them
limits       what this machine can do at best
plotting     figures in one style
fits         how the constants of Mercer's own polynomials were obtained
"""
