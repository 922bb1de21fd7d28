"""The sections of utils/bench-cpu."""
