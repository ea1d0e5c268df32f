"""The mutation score: every fact is set wrong in every way that people do, and the claims are asked who notices."""
