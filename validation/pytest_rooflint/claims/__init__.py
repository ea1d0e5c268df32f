"""Kinds of claims: one module for each, which defines `KIND`; the others are shared by several kinds."""
