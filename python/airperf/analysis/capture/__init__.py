"""What a capture's tables say: pure functions from tables to the tables behind figures and pages.

Model: docs/reference/captures.md. Leaves out everything that needs packets; Rust has been there.
"""
