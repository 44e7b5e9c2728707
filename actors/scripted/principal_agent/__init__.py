"""Who plays the principal-agent game: principals, workers with hidden effort, oracles."""
