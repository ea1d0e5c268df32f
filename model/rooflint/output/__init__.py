"""Output: answers as text, CSV, Markdown and charts."""
