"""Power from physics: what so many multiply-accumulates a second draw, by one document's estimate."""
