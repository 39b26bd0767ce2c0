"""What the records mean: pure functions from tables to numbers, without clocks or files."""
