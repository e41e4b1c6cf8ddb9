"""What the verbs of ``mercer index`` share: options, ids, files, matches, recall."""
