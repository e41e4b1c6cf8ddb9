"""Loops of encoded rows: products with weights and residuals for CSR rows, codes, bits, factors and grids."""
