"""Coalition formation: agents who agree, by signatures, on who works together and who gets what."""
