"""`python -m opdump`: the command `opdump`."""

from opdump._program import main

main()
