"""`python -m sourcebook` is the command line."""

import sys

from sourcebook.serve.cli import main

sys.exit(main())
