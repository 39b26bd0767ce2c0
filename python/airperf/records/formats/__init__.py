"""Tables of a capture in the forms that people and other tools read.

Each module is one form. Every text passes `text.harmless` first: what a capture says can neither drive a
terminal nor break a line.
"""
