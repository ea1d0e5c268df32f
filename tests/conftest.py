"""What tests of every part share."""

pytest_plugins = ["pytester"]
