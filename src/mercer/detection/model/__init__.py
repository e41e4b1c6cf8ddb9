"""Part models: components, filters, the kernel of words, and where objects are found."""
