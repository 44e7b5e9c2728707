"""Who plays, and the processes they live in."""
