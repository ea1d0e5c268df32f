"""`python -m rooflint` is `rooflint`."""

from rooflint.cli.main import main

main()
