"""Figures from tables: matplotlib in, SVG text out. Plots see tables only."""
