"""Whether the stages' predicted steps, together, are what measured.yaml says."""
import json
import sys

stages = json.load(sys.stdin)["prediction"]["stages"]
assert len(stages) == int(sys.argv[1]), stages
for rows, wanted, share in [("1", 40, 1e-6), ("8", 50, 1e-6), ("32", 160, 1e-6),
                            # Half way between level and the line.
                            ("4", (40 + 40 + 10 * 3 / 7) / 2, 0.01),
                            # And between that and rows as long as the last ones.
                            ("24", (160 * 24 / 32 + 50 + 110 * 16 / 24) / 2, 0.01),
                            ("64", 320, 0.01)]:
    said = 1e3 * sum(stage["step_seconds"][rows] for stage in stages)
    assert abs(said / wanted - 1) <= share, (rows, said, wanted)
