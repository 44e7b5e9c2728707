"""Who bargains: negotiators who speak the tagged protocol in sentences."""
