"""Answers: what a command says, as data."""
