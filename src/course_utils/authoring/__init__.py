"""From a chapter's percent source to its notebooks: what authors' commands do."""
