"""Who plays provision point: contributors of several minds, and coordinators."""
