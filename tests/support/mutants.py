"""What a chapter's own operators make of a line."""

from course_utils.authoring.mutants import making


def changes_of(chapter: str, source: str) -> list[tuple[str, str]]:
    """The operator of each mutant, and the lines that stand there now."""
    found = making.mutants(source, making.domain_of(chapter))
    return [(mutant.operator, mutant.now) for mutant in found]
