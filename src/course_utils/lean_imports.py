"""To be imported before nbformat: keeps a slow import out."""

import sys

# jsonschema would use it to check internationalised addresses, of which a notebook has none, and
# importing it takes longer than everything else that the command does at its start.
sys.modules.setdefault("rfc3987_syntax", None)  # ty: ignore[no-matching-overload]
