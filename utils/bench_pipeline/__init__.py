"""The parts of utils/bench-pipeline."""
