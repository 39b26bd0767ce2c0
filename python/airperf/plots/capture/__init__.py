"""Figures of captures: the tables of ``analysis.capture`` in, SVG text out."""
