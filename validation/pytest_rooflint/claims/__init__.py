"""The kinds of claims that rooflint knows; each module defines one `KIND`."""
