"""Reads and writes models' files with nothing but Python's standard library."""
