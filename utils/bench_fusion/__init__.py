"""What utils/bench-fusion measures, section by section."""
