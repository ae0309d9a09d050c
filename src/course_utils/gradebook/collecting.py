"""nbgrader's collecting, without what a student handed in under another student's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect


class CollectFromOwners(ExchangeCollect):
    """Leaves aside a submission that isn't its student's own.

    nbgrader takes the newest submission under a name and only warns where its folder belongs to
    another account; so any student of the machine could put a file in the place of another's.
    """

    def _path_to_record(self, path: str) -> dict[str, Any]:
        record = super()._path_to_record(path)
        try:
            owner = Path(path).owner()
        except KeyError:
            owner = "an account that is gone"
        if self.check_owner and owner != record["username"]:
            # As a student of its own, so that it isn't weighed against what the student handed in.
            record |= {"from": owner, "username": f"{record['username']} by {owner}"}
        return record

    def init_src(self) -> None:
        super().init_src()
        for record in self.src_records:
            if "from" in record:
                self.log.warning("%s left aside: it is from %s", record["filename"], record["from"])
        self.src_records = [record for record in self.src_records if "from" not in record]
