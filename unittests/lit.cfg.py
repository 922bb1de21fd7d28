# Runs every GoogleTest executable of the build through lit, so that unit tests
# are counted and timed out like all others.
import os

import lit.formats

config.name = "Sluice-Unit"
config.suffixes = []
config.test_source_root = config.test_exec_root = config.unit_test_dir
config.test_format = lit.formats.GoogleTest(".", "Tests")
for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
