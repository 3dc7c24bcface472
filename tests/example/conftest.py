"""The modules of the example are found by their names, as when its commands run."""

import composing  # noqa: F401  # puts the folder of the example on the path
