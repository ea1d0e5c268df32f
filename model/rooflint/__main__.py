"""`python -m rooflint` is `rooflint`."""

from rooflint.cli import main

main()
