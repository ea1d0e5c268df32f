"""Golden files: expectations, claims, kinds of claims, replays."""
