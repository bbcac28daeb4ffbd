"""`python -m docpruner`."""

from docpruner.cli import main

main()
