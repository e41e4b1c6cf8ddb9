"""Fewer columns for additive kernels: convex selection and merging. [gavves12convex]"""
