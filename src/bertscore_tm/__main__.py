"""``python -m bertscore_tm`` is ``bertscore-tm``."""

import sys

from .cli import main

sys.exit(main())
