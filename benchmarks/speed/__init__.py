"""Speed of Mercer's own parts against the usual alternatives and against the machine's limits."""
