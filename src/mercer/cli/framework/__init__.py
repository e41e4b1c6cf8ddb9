"""What all verbs share: options, output, errors, progress, and how typer is set up."""
