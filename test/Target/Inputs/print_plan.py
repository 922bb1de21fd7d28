"""print_plan.py: what the `info --json` on stdin says of prompts and places."""
import json
import sys

info = json.load(sys.stdin)
plan = info["plan"]
rows = {p["name"]: p["step_rows"] for p in info["programs"]}
draft = rows.pop(plan["draft"]["program"])
print(f"the draft has the fewest rows: {draft < min(rows.values())}, "
      f"prompts are cut by them: {plan['step_rows'] == draft}")
print("ranks on", ", ".join(rank["place"] for rank in plan["ranks"]))
