"""The configuration files a run hands back."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from trimtab_db.records import Export

from trimtab_agent.api.context import ContextDep
from trimtab_agent.api.routes.runs import RunId

router = APIRouter(prefix="/runs/{run_id}/exports", tags=["exports"])


@router.get("", response_model=list[Export])
def list_exports(run_id: RunId, context: ContextDep) -> tuple[Export, ...]:
    """The best configuration in every format, with what each server's own check said of it."""
    return context.repository.exports(run_id)


@router.get("/{export_format}/download", response_class=PlainTextResponse)
def download_export(
    run_id: RunId, export_format: Annotated[str, Path(max_length=64)], context: ContextDep
) -> PlainTextResponse:
    """The file itself, to be saved under its own name."""
    for export in context.repository.exports(run_id):
        if export.format == export_format:
            disposition = f"attachment; filename*=UTF-8''{quote(export.file_name)}"
            return PlainTextResponse(export.text, headers={"Content-Disposition": disposition})
    raise HTTPException(404)
