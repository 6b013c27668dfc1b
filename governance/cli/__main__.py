"""`python -m governance.cli` is `tierlock`."""

import sys

from governance.cli.start import main

sys.exit(main(sys.argv[1:]))
