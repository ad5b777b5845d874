"""Runs side by side."""

from typing import Annotated

from fastapi import APIRouter, Query

from trimtab_agent.api.context import ContextDep
from trimtab_agent.results.run_comparison import RunComparison, compare_runs

router = APIRouter(tags=["runs"])


@router.get("/compare", response_model=RunComparison)
def compare(
    context: ContextDep,
    run: Annotated[list[Annotated[int, Query(ge=1, le=2**31 - 1)]], Query(min_length=1, max_length=12)],
) -> RunComparison:
    """Winners, curves and architectures of the runs named by `run`, which may be given several times."""
    return compare_runs(context.repository, run)
