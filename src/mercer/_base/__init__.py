"""Domain-free helpers: errors, validation, threads, memory, progress, files. Imports nothing of Mercer above itself."""
