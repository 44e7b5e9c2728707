"""Where actors live: one event loop, packed cells, or a Ray actor for each."""
