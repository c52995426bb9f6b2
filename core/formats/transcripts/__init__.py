"""Transcripts of conversations and agents in files: lists of messages in a cell, and traces of several spans."""
