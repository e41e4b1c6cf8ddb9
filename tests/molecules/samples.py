"""Molecules that chemists know: drugs, sugars, and some small ones."""

SMILES = [
    "CCO", "CCCO", "CC(=O)O", "c1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "O=C(O)c1ccccc1O", "CC(=O)Nc1ccc(O)cc1",
    "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "Cn1c(=O)c2[nH]cnc2n(C)c1=O", "CC(C)Cc1ccc(C(C)C(=O)O)cc1",
    "COc1ccc2cc(C(C)C(=O)O)ccc2c1", "OCC1OC(O)C(O)C(O)C1O", "OCC1OC(OC2(CO)OC(CO)C(O)C2O)C(O)C(O)C1O",
    "CN1C2CCC1C(C(=O)OC)C(OC(=O)c1ccccc1)C2", "CN1CCC23C4Oc5c2c(CC1C3C=CC4O)ccc5O", "CCCCCCCCCCCCCCCC(=O)O",
    "CCCCCCCC/C=C/CCCCCCCC(=O)O", "Cc1cn(C2CC(N=[N+]=[N-])C(CO)O2)c(=O)[nH]c1=O", "Nc1ncnc2c1ncn2C1OC(CO)C(O)C1O",
    "NC(Cc1c[nH]c2ccccc12)C(=O)O", "NC(Cc1ccccc1)C(=O)O", "NC(Cc1ccc(O)cc1)C(=O)O", "CC(N)C(=O)O",
    "Clc1ccccc1C(c1ccccc1)(c1ccccc1)n1ccnc1", "C[C@H](N)Cc1ccccc1", "CCN(CC)CC", "O=[N+]([O-])c1ccccc1", "[Na+].[Cl-]",
]  # fmt: skip
