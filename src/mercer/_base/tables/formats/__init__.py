"""One reader per table format (npy, csv and tsv, parquet, svmlight, fvecs), and what each of them needs."""
