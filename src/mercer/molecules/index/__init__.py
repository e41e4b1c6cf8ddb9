"""Search among molecules: a `KernelIndex` of their fingerprints, with their SMILES beside the rows."""
