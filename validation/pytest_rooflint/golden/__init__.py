"""Golden files: claims with their sources and expectations, kinds of claims, replays."""
