"""Recorded operators run again, for `opdump blame`. Imports nothing of opdump: any Python with a torch can run it."""
