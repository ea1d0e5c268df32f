"""Kinds of claims; each module defines one `KIND`."""
