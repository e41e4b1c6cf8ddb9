"""Files of molecules: SMILES, structure-data files, and tables with a column of SMILES."""
